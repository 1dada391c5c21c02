module forevervm.dev/desktop

go 1.26
