//go:build unix

package remote

import (
	"os/exec"
	"syscall"
)

// Detach keeps a program from the signals of this one's terminal: it ends when its pipe does.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
