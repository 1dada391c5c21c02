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
	first, err := firstOf(running)
	if err != nil {
		return nil, err
	}
	start, err := asItWasStarted(first)
	if err != nil {
		return nil, err
	}
	if err := first.SendSignal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, err
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

// firstOf is the program that has started the others: apps consist of many.
func firstOf(running []Program) (*process.Process, error) {
	for _, one := range running {
		first, err := process.NewProcess(int32(one.PID))
		if err != nil {
			continue // it has just ended
		}
		parent, err := first.Ppid()
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(running, func(other Program) bool { return other.PID == int(parent) }) {
			return first, nil
		}
	}
	return nil, os.ErrProcessDone
}

// asItWasStarted starts a program again: the same file, arguments, folder and environment, with its display. An AppImage's own file is gone with it, and
// what was updated meanwhile has a new one.
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
