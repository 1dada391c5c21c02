package app

import (
	"runtime"

	"fyne.io/systray"

	"github.com/forevervm/desktop/app/icon"
	"github.com/forevervm/desktop/app/overview"
)

const mnemonic = "&"

// start shows the icon, on a thread of its own that hears of clicks.
func (t *trayIcon) start() {
	systray.SetOnTapped(func() { go t.do.open() })
	go func() {
		runtime.LockOSThread()
		systray.Run(t.build, nil)
	}()
}

// there says whether the icon is shown.
func (t *trayIcon) there() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.built
}

func setIcon(mood overview.Mood) { systray.SetIcon(icon.ICO(icon.Draw(32, mood))) }
