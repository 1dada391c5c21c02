//go:build !bindings

// Command forevervm-desktop is the window in which people see what runs in their machines. It lies
// in the root of the module so that `wails dev` and `wails build` find it; everything is in package
// app.
package main

import (
	"os"

	"github.com/forevervm/desktop/app"
	"github.com/forevervm/desktop/frontend"
)

func main() { os.Exit(app.Run(frontend.Dist)) }
