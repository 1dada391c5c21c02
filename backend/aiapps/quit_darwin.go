package aiapps

import (
	"os/exec"
	"time"
)

// quitWithin is how long an app may take to save what it has and end.
const quitWithin = 10 * time.Second

// quit is Computer.Quit.
func quit(running []Program) (again func() error, err error) {
	name := running[0].Name
	if err := exec.Command("osascript", "-e", "on run {name}", "-e", "tell application name to quit", "-e", "end run", name).Run(); err != nil {
		return nil, err
	}
	if err := ended(running, quitWithin); err != nil {
		return nil, err
	}
	return func() error { return exec.Command("open", "-a", name).Run() }, nil
}
