package main

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program in the place of this one, which Windows cannot turn into it: with the
// same standard input and output, which end it together with this one. It returns only where that
// program does not start.
func become(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &ended):
		os.Exit(ended.ExitCode())
	}
	return err
}
