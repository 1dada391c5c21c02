package autostart

import (
	"errors"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

const (
	run      = `Software\Microsoft\Windows\CurrentVersion\Run`
	approved = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`
)

// On says whether the program is started at login. The Task Manager's switch leaves the entry and
// notes beside it that it is off.
func (e Entry) On() (bool, error) {
	if _, err := value(run, e.ID); errors.Is(err, registry.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	noted, err := value(approved, e.ID)
	if errors.Is(err, registry.ErrNotExist) {
		return true, nil
	}
	return err == nil && (len(noted) == 0 || noted[0]&1 == 0), err
}

// Set has the program started at login from now on, whatever the system's switch said before, or no
// longer.
func (e Entry) Set(on bool) error {
	if err := remove(approved, e.ID); err != nil {
		return err
	}
	if !on {
		return remove(run, e.ID)
	}
	key, _, err := registry.CreateKey(registry.CURRENT_USER, run, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer key.Close()
	return key.SetStringValue(e.ID, windows.ComposeCommandLine(e.Command))
}

// value returns the bytes of a value of the person's own.
func value(path, name string) ([]byte, error) {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if err != nil {
		return nil, err
	}
	defer key.Close()
	size, _, err := key.GetValue(name, nil)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, _, err := key.GetValue(name, data)
	return data[:min(n, len(data))], err
}

func remove(path, name string) error {
	key, err := registry.OpenKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if err == nil {
		defer key.Close()
		err = key.DeleteValue(name)
	}
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	return err
}
