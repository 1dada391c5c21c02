package autostart

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"

	"github.com/forevervm/desktop/app/desktopentry"
)

// On says whether the program is started at login. The settings of a desktop may have switched the
// entry off without removing it.
func (e Entry) On() (bool, error) {
	group, err := desktopentry.Read(e.path())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	off := strings.EqualFold(group.Get("Hidden"), "true") || strings.EqualFold(group.Get("X-GNOME-Autostart-enabled"), "false")
	return !off && group.Get("Exec") != "", nil
}

// Set has the program started at login from now on, whatever the system's switch said before, or no
// longer.
func (e Entry) Set(on bool) error {
	if !on {
		if err := os.Remove(e.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return desktopentry.Write(e.path(), desktopentry.Group{
		{Key: "Type", Value: "Application"}, {Key: "Name", Value: e.Name}, {Key: "Exec", Value: desktopentry.Exec(e.Command...)},
		{Key: "TryExec", Value: strings.ReplaceAll(e.Command[0], `\`, `\\`)}, // or a desktop would complain once the program is removed
		{Key: "X-GNOME-Autostart-enabled", Value: "true"},
	})
}

func (e Entry) path() string { return filepath.Join(xdg.ConfigHome, "autostart", e.ID+".desktop") }
