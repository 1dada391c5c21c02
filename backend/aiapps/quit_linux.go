package aiapps

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// quitWithin is how long an app may take to save what it has and end.
const quitWithin = 10 * time.Second

// quit is Computer.Quit.
func quit(running []Program) (again func() error, err error) {
	heads := headsOf(running)
	if len(heads) == 0 {
		return nil, os.ErrProcessDone
	}
	start, err := asItWasStarted(heads[0])
	if err != nil {
		return nil, err
	}
	for _, head := range heads {
		if err := head.SendSignal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return nil, err
		}
	}
	if err := ended(running, quitWithin); err != nil {
		return nil, err
	}
	return func() error {
		if err := start.Start(); err != nil {
			return err
		}
		go func() { _ = start.Wait() }() // how it ends is the person's business
		return nil
	}, nil
}

// headsOf are the programs that are to be asked to end, the one first that has started all: apps
// consist of many, which end with the one whose program they are. A script that starts another
// program does not take that along.
func headsOf(running []Program) []*process.Process {
	var first, rest []*process.Process
	for _, one := range running {
		head, err := process.NewProcess(int32(one.PID))
		if err != nil {
			continue // it has just ended
		}
		parent, err := head.Ppid()
		if err != nil {
			continue
		}
		switch at := slices.IndexFunc(running, func(other Program) bool { return other.PID == int(parent) }); {
		case at < 0:
			first = append(first, head)
		case running[at].Path != one.Path:
			rest = append(rest, head)
		}
	}
	return append(first, rest...)
}

// asItWasStarted starts a program again: the same file, arguments, folder and environment, with its
// display. An AppImage's own file is gone with it, and what was updated meanwhile has a new one.
func asItWasStarted(one *process.Process) (*exec.Cmd, error) {
	path, err := one.Exe()
	if err != nil {
		return nil, err
	}
	arguments, err := one.CmdlineSlice()
	if err != nil {
		return nil, err
	}
	environment, err := one.Environ()
	if err != nil {
		return nil, err
	}
	path = strings.TrimSuffix(path, " (deleted)")
	for _, variable := range environment {
		if image, ok := strings.CutPrefix(variable, "APPIMAGE="); ok && image != "" {
			path = image
		}
	}
	cmd := exec.Command(path)
	cmd.Args, cmd.Env = arguments, environment
	cmd.Dir, _ = one.Cwd()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}
