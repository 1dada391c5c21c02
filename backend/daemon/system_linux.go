package daemon

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	login1        = "org.freedesktop.login1"
	login1Path    = "/org/freedesktop/login1"
	login1Manager = "org.freedesktop.login1.Manager"
)

// saveBeforeSleep is how long saving may take before the computer sleeps: systemd waits for 5
// seconds by default.
const saveBeforeSleep = 4500 * time.Millisecond

// watchSystem saves the machines before the computer sleeps or shuts down, until ctx ends. Where no
// login manager tells of that it returns at once.
func watchSystem(ctx context.Context, log *slog.Logger, save func(context.Context) error) {
	bus, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		log.Debug("sleep and shutdown are not announced here", "err", err)
		return
	}
	defer func() { _ = bus.Close() }()
	w := &systemWatch{manager: bus.Object(login1, login1Path), log: log, save: save}
	defer w.letGo()
	signals := make(chan *dbus.Signal, 16)
	bus.Signal(signals)
	for _, member := range []string{"PrepareForSleep", "PrepareForShutdown"} {
		err := bus.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(login1Path), dbus.WithMatchInterface(login1Manager), dbus.WithMatchMember(member))
		if err != nil {
			log.Debug("sleep and shutdown are not announced here", "err", err)
			return
		}
	}
	w.hold(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case signal, ok := <-signals:
			if !ok {
				return // the bus is gone, and with it anyone who could announce anything
			}
			w.heard(ctx, signal)
		}
	}
}

// systemWatch holds a lock that delays sleep and shutdown until the machines are saved.
type systemWatch struct {
	manager dbus.BusObject
	log     *slog.Logger
	save    func(context.Context) error
	lock    *os.File // nil while not held
}

// heard acts on one announcement: something begins, or (sleep only) is over.
func (w *systemWatch) heard(ctx context.Context, signal *dbus.Signal) {
	if len(signal.Body) != 1 {
		return
	}
	begins, ok := signal.Body[0].(bool)
	if !ok {
		return
	}
	if !begins {
		w.hold(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, saveBeforeSleep)
	defer cancel()
	started := time.Now()
	err := w.save(ctx)
	w.log.Info("saved the machines, as the computer is about to sleep or shut down", "took", time.Since(started), "err", err)
	w.letGo()
}

func (w *systemWatch) hold(ctx context.Context) {
	if w.lock != nil {
		return
	}
	var fd dbus.UnixFD
	err := w.manager.CallWithContext(ctx, login1Manager+".Inhibit", 0, "sleep:shutdown", "ForeverVM", "Saves the machines", "delay").Store(&fd)
	if err != nil {
		w.log.Debug("sleep and shutdown cannot be delayed here", "err", err)
		return
	}
	w.lock = os.NewFile(uintptr(fd), "inhibitor")
}

func (w *systemWatch) letGo() {
	if w.lock == nil {
		return
	}
	_ = w.lock.Close()
	w.lock = nil
}
