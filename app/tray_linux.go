package app

import (
	"context"

	"fyne.io/systray"
	"github.com/godbus/dbus/v5"

	"github.com/forevervm/desktop/app/icon"
	"github.com/forevervm/desktop/app/overview"
)

const mnemonic = "_"

// start shows the icon wherever there is a tray, or one comes. Without a bus there is none. Nothing
// is to be done at the end: the tray sees that the program has left the bus.
func (t *trayIcon) start() {
	bus, err := sessionBus()
	if err != nil {
		return
	}
	_ = bus.Close() // systray uses the one that is shared
	systray.SetTitle(name)
	systray.SetOnTapped(func() { go t.do.open() })
	start, _ := systray.RunWithExternalLoop(t.build, nil)
	start()
}

// there says whether somebody shows icons. Many a desktop does not.
func (t *trayIcon) there() bool {
	bus, err := sessionBus()
	if err != nil {
		return false
	}
	defer func() { _ = bus.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), busWithin)
	defer cancel()
	var shown dbus.Variant
	watcher := bus.Object("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
	err = watcher.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", dbus.FlagNoAutoStart, "org.kde.StatusNotifierWatcher", "IsStatusNotifierHostRegistered").Store(&shown)
	host, ok := shown.Value().(bool)
	return err == nil && ok && host
}

func setIcon(mood overview.Mood) { systray.SetIcon(icon.PNG(icon.Draw(64, mood))) }
