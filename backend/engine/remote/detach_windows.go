package remote

import (
	"os/exec"
	"syscall"
)

// Detach keeps a program from showing a window, and from the keys of this one's console: it ends
// when its pipe does.
func Detach(cmd *exec.Cmd) {
	const noWindow = 0x08000000 // CREATE_NO_WINDOW
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: noWindow | syscall.CREATE_NEW_PROCESS_GROUP}
}
