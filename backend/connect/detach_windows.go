package connect

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// startDetached starts a program that outlives this one: with no console, in a group of its own and
// outside of the job in which an AI app may have put this one. A job may forbid that; then it stays
// inside.
func startDetached(cmd *exec.Cmd) (*child, error) {
	const alone = windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: alone | windows.CREATE_BREAKAWAY_FROM_JOB}
	started, err := launch(cmd)
	if !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return started, err
	}
	again := exec.Command(cmd.Path, cmd.Args[1:]...)
	again.Dir, again.Stderr = cmd.Dir, cmd.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{CreationFlags: alone}
	return launch(again)
}
