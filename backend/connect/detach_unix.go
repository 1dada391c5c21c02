//go:build !windows

package connect

import (
	"os/exec"
	"syscall"
)

// startDetached starts a program that outlives this one, in a session of its own: no signal meant for this one's
// terminal or group reaches it. The channel closes when it has ended.
func startDetached(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return launch(cmd)
}
