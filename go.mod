module github.com/forevervm/desktop

go 1.26
