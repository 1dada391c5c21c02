package app

/*
#include <dispatch/dispatch.h>

extern void forevervmStartTray(void *);

static inline void forevervmOnMain(void) { dispatch_async_f(dispatch_get_main_queue(), NULL, forevervmStartTray); }
*/
import "C"

import (
	"unsafe"

	"fyne.io/systray"

	"github.com/forevervm/desktop/app/icon"
	"github.com/forevervm/desktop/app/overview"
)

const mnemonic = "\x00" // macOS has none

var startTray func()

// start shows the icon. AppKit takes it from the main thread only; systray's own loop would replace
// Wails' delegate.
func (t *trayIcon) start() {
	startTray, _ = systray.RunWithExternalLoop(t.build, nil)
	C.forevervmOnMain()
}

//export forevervmStartTray
func forevervmStartTray(unsafe.Pointer) { startTray() }

// there says whether the icon is shown.
func (t *trayIcon) there() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.built
}

func setIcon(mood overview.Mood) {
	systray.SetTemplateIcon(icon.PNG(icon.Template(44, mood)), icon.PNG(icon.Draw(44, mood)))
}
