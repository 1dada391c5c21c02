//go:build !linux

package app

import (
	"context"
	"strconv"
	"sync"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/forevervm/desktop/app/overview"
)

// notifier shows the system's notifications.
type notifier struct {
	mu     sync.Mutex
	window context.Context // nil where there are none
	sent   int
}

// start makes the notifier ready; clicked is called with the address of a notice that was clicked.
func (n *notifier) start(window context.Context, clicked func(address string)) {
	if !runtime.IsNotificationAvailable(window) || runtime.InitializeNotifications(window) != nil {
		return
	}
	if allowed, err := runtime.RequestNotificationAuthorization(window); err != nil || !allowed {
		return
	}
	runtime.OnNotificationResponse(window, func(result runtime.NotificationResult) {
		if result.Error == nil {
			address, _ := result.Response.UserInfo["address"].(string)
			clicked(address)
		}
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.window = window
}

// send shows a notice; it fails where nothing shows notifications.
func (n *notifier) send(notice overview.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.window == nil {
		return errNoWindow
	}
	n.sent++
	return runtime.SendNotification(n.window, runtime.NotificationOptions{
		ID: program + "-" + strconv.Itoa(n.sent), Title: notice.Title, Body: notice.Body, Data: map[string]any{"address": notice.Address()},
	})
}

func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.window != nil {
		runtime.CleanupNotifications(n.window)
		n.window = nil
	}
}
