//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"syscall"
)

// become turns this process into another program. It returns only where that fails.
func become(program string, args ...string) error {
	err := syscall.Exec(program, append([]string{filepath.Base(program)}, args...), os.Environ())
	return &os.PathError{Op: "start", Path: program, Err: err}
}
