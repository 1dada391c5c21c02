//go:build !windows

package pdf

import (
	"os/exec"
	"runtime"
	"syscall"
)

func browsers() []string {
	if runtime.GOOS == "darwin" {
		var all []string
		for _, name := range []string{"Google Chrome", "Microsoft Edge", "Brave Browser", "Chromium"} {
			all = append(all, "/Applications/"+name+".app/Contents/MacOS/"+name)
		}
		return all
	}
	return []string{"google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "microsoft-edge", "microsoft-edge-stable", "brave-browser"}
}

// alone ends all of the browser's processes with it.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
