//go:build !dev

// Package frontend holds the built page, for the daemon and the window to serve.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var files embed.FS

// Dist is the page's files, index.html at the top. Before `npm run build` it holds no page.
var Dist = sub()

func sub() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path: it cannot fail
	}
	return dist
}
