package app

import (
	"strings"
	"sync"

	"fyne.io/systray"

	"github.com/forevervm/desktop/app/tray"
)

// trayActions are what the lines of the tray's menu do. They are called in goroutines of their own.
type trayActions struct {
	open        func()
	openMachine func(name string)
	opened      func() // the menu is shown
	pause       func()
	resume      func()
	apps        func()
	atLogin     func()
	quit        func()
}

// trayIcon shows a tray.Menu. Its lines stay in place for good and are only changed or hidden:
// systems close an open menu that is built again.
type trayIcon struct {
	do trayActions

	mu    sync.Mutex
	built bool
	menu  tray.Menu // what is shown, or is to be once the menu is built

	open, status, more, pause, resume, apps, atLogin, quit *systray.MenuItem
	machines                                               [tray.MaxMachines]*systray.MenuItem
}

func newTray(do trayActions) *trayIcon { return &trayIcon{do: do} }

// build makes the menu. The system calls it once it has the icon.
func (t *trayIcon) build() {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := func(text string, do func()) *systray.MenuItem {
		item := systray.AddMenuItem(text, "")
		t.listen(item, do)
		return item
	}
	reading := func() *systray.MenuItem {
		item := systray.AddMenuItem("", "")
		item.Disable()
		return item
	}
	t.open = line("", t.do.open)
	systray.AddSeparator()
	t.status = reading()
	for i := range t.machines {
		t.machines[i] = line("", func() { t.do.openMachine(t.machine(i)) })
		t.machines[i].Hide()
	}
	t.more = reading()
	t.more.Hide()
	t.pause = line("", t.do.pause)
	t.resume = line("", t.do.resume)
	systray.AddSeparator()
	t.apps = line("", t.do.apps)
	t.atLogin = systray.AddMenuItemCheckbox("", "", false)
	t.listen(t.atLogin, t.do.atLogin)
	systray.AddSeparator()
	t.quit = line("", t.do.quit)
	go func() { // for as long as the program lives
		for range systray.TrayOpenedCh {
			t.do.opened()
		}
	}()
	t.built = true
	t.apply(tray.Menu{}, true)
}

func (t *trayIcon) listen(item *systray.MenuItem, do func()) {
	go func() { // for as long as the program lives
		for range item.ClickedCh {
			go do()
		}
	}()
}

// machine is the one that a line stands for now.
func (t *trayIcon) machine(line int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line < len(t.menu.Machines) {
		return t.menu.Machines[line].Machine
	}
	return ""
}

// show shows a menu, now or once the tray is there.
func (t *trayIcon) show(menu tray.Menu) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.menu
	t.menu = menu
	if t.built {
		t.apply(before, false)
	}
}

// apply changes what differs from what was shown before; with all, everything. mu is held.
func (t *trayIcon) apply(before tray.Menu, all bool) {
	now := t.menu
	if all || now.Mood != before.Mood {
		setIcon(now.Mood)
	}
	if all || now.Tooltip != before.Tooltip {
		systray.SetTooltip(now.Tooltip)
	}
	text := func(item *systray.MenuItem, now, before string) {
		if !all && now == before {
			return
		}
		if now == "" {
			item.Hide()
			return
		}
		// What marks a key in a menu's text stands for itself when doubled.
		item.SetTitle(strings.ReplaceAll(now, mnemonic, mnemonic+mnemonic))
		item.Show()
	}
	text(t.open, now.Open, before.Open)
	text(t.status, now.Status, before.Status)
	for i, item := range t.machines {
		text(item, at(now.Machines, i), at(before.Machines, i))
	}
	text(t.more, now.More, before.More)
	text(t.pause, now.Pause, before.Pause)
	text(t.resume, now.Resume, before.Resume)
	text(t.apps, now.Apps, before.Apps)
	text(t.atLogin, now.Login, before.Login)
	text(t.quit, now.Quit, before.Quit)
	if all || now.CanPause != before.CanPause {
		if now.CanPause {
			t.pause.Enable()
		} else {
			t.pause.Disable()
		}
	}
	if all || now.AtLogin != before.AtLogin {
		if now.AtLogin {
			t.atLogin.Check()
		} else {
			t.atLogin.Uncheck()
		}
	}
}

func at(lines []tray.Line, i int) string {
	if i < len(lines) {
		return lines[i].Text
	}
	return ""
}
