package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

var errNoWindow = errors.New("The window is not ready yet.")

// window is the shown window, for those who want something of it before or after it is there.
type window struct {
	mu      sync.Mutex
	ctx     context.Context // Wails' own; nil before the start
	ready   bool            // the page is there
	hidden  bool            // the window is not to be shown once the page is there
	address string          // where the page is led once it is there
}

// show shows the window until it is closed. A display may answer and still not take a window, and
// GTK panics then: that is an error here. A panic of a window that is there stays one.
func (w *window) show(opts *options.App) (err error) {
	defer func() {
		if w.context() != nil {
			return
		}
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	return wails.Run(opts)
}

func (w *window) context() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ctx
}

func (w *window) started(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
}

// pageReady shows the window, once the page has drawn itself: no white flash in the dark.
func (w *window) pageReady(ctx context.Context) {
	w.mu.Lock()
	hidden, address := w.hidden, w.address
	w.ready, w.address = true, ""
	w.mu.Unlock()
	if address != "" {
		lead(ctx, address)
	}
	if !hidden {
		runtime.WindowShow(ctx)
	}
}

// raise shows the window, in front of others.
func (w *window) raise() {
	w.mu.Lock()
	w.hidden = false
	ctx, ready := w.ctx, w.ready
	w.mu.Unlock()
	if ready {
		runtime.WindowShow(ctx)
		runtime.WindowUnminimise(ctx)
	}
}

func (w *window) hide() {
	w.mu.Lock()
	w.hidden = true
	ctx := w.ctx
	w.mu.Unlock()
	if ctx != nil {
		runtime.WindowHide(ctx)
	}
}

// goTo leads the page to one of its addresses, such as #/machine/NAME.
func (w *window) goTo(address string) {
	w.mu.Lock()
	ctx, ready := w.ctx, w.ready
	if !ready {
		w.address = address
	}
	w.mu.Unlock()
	if ready {
		lead(ctx, address)
	}
}

func lead(ctx context.Context, address string) {
	quoted, err := json.Marshal(address)
	if err == nil {
		runtime.WindowExecJS(ctx, "location.hash="+string(quoted))
	}
}

// ask has the person answer a question with yes or no. Without a window the answer is yes.
func (w *window) ask(title, question string) bool {
	answer, err := w.dialog(runtime.QuestionDialog, title, question)
	return err != nil || answer == "Yes"
}

// tell shows a message until the person has read it.
func (w *window) tell(title, message string) error {
	_, err := w.dialog(runtime.InfoDialog, title, message)
	return err
}

func (w *window) dialog(kind runtime.DialogType, title, message string) (string, error) {
	ctx := w.context()
	if ctx == nil {
		return "", errNoWindow
	}
	if goruntime.GOOS == "linux" { // where Wails hands it to GTK as a format
		message = strings.ReplaceAll(message, "%", "%%")
	}
	return runtime.MessageDialog(ctx, runtime.MessageDialogOptions{Type: kind, Title: title, Message: message})
}

func (w *window) quit() {
	if ctx := w.context(); ctx != nil {
		runtime.Quit(ctx)
	}
}
