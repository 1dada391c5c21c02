//go:build linux

// Command supervisor keeps one machine in its sandbox. It is started by an engine, never by people:
// package sandbox says how.
package main

import (
	"os"

	"github.com/forevervm/desktop/backend/sandbox"
)

func main() { os.Exit(sandbox.Main(os.Args[1:])) }
