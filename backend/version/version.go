// Package version says which build this is.
package version

// Version is set when the programs are built (-ldflags "-X github.com/forevervm/desktop/backend/version.Version=…").
var Version = "dev"
