//go:build !windows && !darwin

package credentials

import (
	"errors"
	"io/fs"
	"net"
	"os/exec"
	"strings"

	"github.com/godbus/dbus/v5"
)

// kindOf tells what an error of the Secret Service means; nil where that is not known.
func kindOf(err error) error {
	var said dbus.Error
	var op *net.OpError
	var start *exec.Error
	switch {
	case errors.As(err, &said):
		return kindNamed(said.Name)
	case errors.As(err, &op), errors.As(err, &start), errors.Is(err, fs.ErrNotExist), strings.HasPrefix(err.Error(), "dbus: couldn't determine address"):
		return ErrNoKeyring // not even a bus to ask on
	case strings.HasPrefix(err.Error(), "failed to unlock"):
		return ErrLocked
	}
	return nil
}

func kindNamed(name string) error {
	switch name {
	case "org.freedesktop.Secret.Error.IsLocked":
		return ErrLocked
	case "org.freedesktop.DBus.Error.AccessDenied":
		return ErrDenied
	case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.NoReply",
		"org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod":
		return ErrNoKeyring
	}
	if strings.HasPrefix(name, "org.freedesktop.DBus.Error.Spawn.") {
		return ErrNoKeyring
	}
	return nil
}
