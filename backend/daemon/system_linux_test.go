//go:build system

package daemon

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// logind is a login manager on a bus of the test's own.
type logind struct {
	bus   *dbus.Conn
	locks chan lockEnds // of each lock that was given out
}

// lockEnds are the pipe that a lock is: it is let go once nobody holds the given end.
type lockEnds struct{ seen, given *os.File }

// Inhibit gives out a lock: the caller holds it until it closes the descriptor.
func (l *logind) Inhibit(what, _, _, mode string) (dbus.UnixFD, *dbus.Error) {
	if what != "sleep:shutdown" || mode != "delay" {
		return 0, dbus.MakeFailedError(os.ErrInvalid)
	}
	seen, given, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	fd := dbus.UnixFD(given.Fd())
	l.locks <- lockEnds{seen, given}
	return fd, nil
}

func (l *logind) announce(t *testing.T, member string, begins bool) {
	t.Helper()
	if err := l.bus.Emit(login1Path, login1Manager+"."+member, begins); err != nil {
		t.Fatal(err)
	}
}

// newLogind starts a bus and the login manager on it.
func newLogind(t *testing.T) *logind {
	t.Helper()
	socket := "unix:path=" + filepath.Join(t.TempDir(), "bus")
	bus := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address", "--address="+socket)
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Fatalf("this test needs dbus-daemon (Debian: dbus-daemon): %v", err)
	}
	t.Cleanup(func() {
		_ = bus.Process.Kill()
		_ = bus.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", strings.TrimSpace(address))
	conn, err := dbus.ConnectSystemBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	manager := &logind{bus: conn, locks: make(chan lockEnds, 8)}
	if err := conn.Export(manager, login1Path, login1Manager); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(login1, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return manager
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

func TestMachinesAreSavedBeforeTheComputerSleeps(t *testing.T) {
	manager := newLogind(t)
	ctx, cancel := context.WithCancel(t.Context())
	saving := make(chan struct{})
	saved := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watchSystem(ctx, slog.New(slog.DiscardHandler), func(context.Context) error {
			saving <- struct{}{}
			<-saved
			return nil
		})
	}()
	for _, member := range []string{"PrepareForSleep", "PrepareForShutdown"} {
		lock := receive(t, manager.locks, "taking a lock")
		let := make(chan error, 1)
		go func() {
			_, err := lock.seen.Read(make([]byte, 1))
			let <- err
		}()
		manager.announce(t, member, true)
		receive(t, saving, "saving")
		_ = lock.given.Close() // the watcher has its copy by now
		select {
		case <-let:
			t.Error("the computer may sleep before the machines are saved")
		default:
		}
		saved <- struct{}{}
		if err := receive(t, let, "letting the computer sleep"); err != io.EOF {
			t.Error(err)
		}
		_ = lock.seen.Close()
		manager.announce(t, member, false) // awake again, or the shutdown was called off
	}
	receive(t, manager.locks, "taking the lock again")
	cancel()
	receive(t, ended, "the end")
}

func TestWithoutABusNothingIsWatched(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	watchSystem(t.Context(), slog.New(slog.DiscardHandler), nil)
}
