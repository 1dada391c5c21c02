package app

import (
	"context"
	"html"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/forevervm/desktop/app/overview"
)

const (
	notifications     = "org.freedesktop.Notifications"
	notificationsPath = "/org/freedesktop/Notifications"
)

// notifier shows the desktop's notifications. Wails can, but takes putting one away for a click on
// it, and does not keep titles from being read as markup.
type notifier struct {
	mu    sync.Mutex
	bus   *dbus.Conn        // nil where there is none
	shown map[uint32]string // the addresses that they lead to
}

// start makes the notifier ready; clicked is called with the address of a notice that was clicked.
func (n *notifier) start(_ context.Context, clicked func(address string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	bus, err := sessionBus()
	if err != nil {
		return
	}
	n.bus, n.shown = bus, map[uint32]string{}
	for _, member := range []string{"ActionInvoked", "NotificationClosed"} {
		if err := bus.AddMatchSignal(dbus.WithMatchInterface(notifications), dbus.WithMatchMember(member)); err != nil {
			return
		}
	}
	signals := make(chan *dbus.Signal, 16)
	bus.Signal(signals)
	go func() { // until the bus is closed
		for signal := range signals {
			if len(signal.Body) == 0 {
				continue
			}
			id, _ := signal.Body[0].(uint32)
			n.mu.Lock()
			address, ours := n.shown[id]
			delete(n.shown, id)
			n.mu.Unlock()
			if ours && signal.Name == notifications+".ActionInvoked" {
				clicked(address)
			}
		}
	}()
}

// send shows a notice; it fails where nothing shows notifications.
func (n *notifier) send(notice overview.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bus == nil {
		return errNoBus
	}
	ctx, cancel := context.WithTimeout(context.Background(), busWithin)
	defer cancel()
	desktop := n.bus.Object(notifications, notificationsPath)
	var can []string
	if err := desktop.CallWithContext(ctx, notifications+".GetCapabilities", 0).Store(&can); err != nil {
		return err
	}
	body := notice.Body
	if slices.Contains(can, "body-markup") {
		body = html.EscapeString(body)
	}
	var id uint32
	err := desktop.CallWithContext(ctx, notifications+".Notify", 0, name, uint32(0), entry, notice.Title, body,
		[]string{"default", "Open"}, map[string]dbus.Variant{"desktop-entry": dbus.MakeVariant(entry)}, int32(-1)).Store(&id)
	if err == nil {
		n.shown[id] = notice.Address()
	}
	return err
}

func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bus != nil {
		_ = n.bus.Close()
		n.bus = nil
	}
}
