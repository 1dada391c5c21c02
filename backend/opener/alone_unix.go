//go:build !windows

package opener

import (
	"os/exec"
	"syscall"
)

// alone lets a program outlive this one: no signal that is meant for this one's terminal reaches
// it.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
