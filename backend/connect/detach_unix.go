//go:build !windows

package connect

import (
	"os/exec"
	"syscall"
)

// startDetached starts a program that outlives this one, in a session of its own: no signal meant
// for this one's terminal or group reaches it.
func startDetached(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return launch(cmd)
}
