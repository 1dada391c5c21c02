//go:build dev

// Package frontend is, under `wails dev`, the page that vite builds after each edit (wails.json).
package frontend

import "os"

// Dist is the page's files, read when they are asked for.
var Dist = os.DirFS("build/cache/page")
