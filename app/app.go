// Package app is the desktop shell around the page: a window that finds the daemon, or starts it, and shows the page.
// Machines live in the daemon; nothing happens to them when the window closes or dies.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/logger"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
)

const name = "ForeverVM"

// Run shows the window until it is closed and returns the program's exit status. Where there is no display, it says so
// and prints an address for a browser instead. One window a user and home: a second start raises the first and ends.
func Run(page fs.FS) int {
	if _, err := fs.Stat(page, "index.html"); err != nil {
		return fail("This build of ForeverVM has no page in it. Build it with `make build`.")
	}
	daemon, err := connect.Lazy(connect.Options{Name: "window", Notice: func(sentence string) { fmt.Fprintln(os.Stderr, sentence) }})
	if err != nil {
		return fail(sentence(err))
	}
	defer daemon.Close()
	if err := display(); err != nil {
		return inBrowser(daemon, os.Stdout, err)
	}
	id, err := instance()
	if err != nil {
		return fail(sentence(err))
	}
	window := &window{}
	err = window.show(&options.App{
		Title:     name,
		Width:     1200,
		Height:    800,
		MinWidth:  480,
		MinHeight: 400,
		// Shown once the page has drawn itself: no white flash in the dark.
		StartHidden: true,
		OnStartup:   window.started,
		OnDomReady:  runtime.WindowShow,
		AssetServer: &assetserver.Options{Assets: page},
		Bind:        []any{&Bridge{daemon: daemon, window: window}},
		SingleInstanceLock: &options.SingleInstanceLock{
			UniqueId:               id,
			OnSecondInstanceLaunch: func(options.SecondInstanceData) { window.raise() },
		},
		EnableDefaultContextMenu: true,
		DragAndDrop:              &options.DragAndDrop{DisableWebViewDrop: true},
		LogLevelProduction:       logger.ERROR,
		Linux:                    &linux.Options{ProgramName: "forevervm-desktop"},
	})
	if err != nil {
		return inBrowser(daemon, os.Stdout, fmt.Errorf("the window cannot be opened (%w)", err))
	}
	return 0
}

// instance names this user's window for the lock of single instances: another home is another window.
func instance() (string, error) {
	dirs, err := home.Resolve("")
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(dirs.Data))
	return "com.forevervm.desktop." + hex.EncodeToString(digest[:8]), nil
}

// window is the shown window, for those who want something of it before or after it is there.
type window struct {
	ctx atomic.Pointer[context.Context] // Wails' own; nil before the start
}

// show shows the window until it is closed. A display may answer and still not take a window, and GTK panics then: that is
// an error here. A panic of a window that is there stays one.
func (w *window) show(opts *options.App) (err error) {
	defer func() {
		if w.ctx.Load() != nil {
			return
		}
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	return wails.Run(opts)
}

func (w *window) started(ctx context.Context) { w.ctx.Store(&ctx) }

// raise brings the window to the front.
func (w *window) raise() {
	ctx := w.ctx.Load()
	if ctx == nil {
		return
	}
	runtime.WindowUnminimise(*ctx)
	runtime.WindowShow(*ctx)
}

func fail(sentence string) int {
	fmt.Fprintln(os.Stderr, sentence)
	return 1
}
