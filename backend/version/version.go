// Package version says which build this is.
package version

// These are set when the programs are built (-ldflags "-X
// github.com/forevervm/desktop/backend/version.Version=…", build/release/stamps.sh).
var (
	Version = "dev"
	// Commit is what it was built from, with a "+" after it where files were changed since, and
	// Date is that commit's day, such as "2026-11-20". Both are "" where that was no checkout.
	Commit = ""
	Date   = ""
)
