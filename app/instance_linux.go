package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/wailsapp/wails/v2/pkg/options"
)

const (
	busName      = "com.forevervm.desktop"
	busPath      = "/com/forevervm/desktop"
	busInterface = "com.forevervm.desktop.Window"
)

// busVariable says where the session's bus is.
const busVariable = "DBUS_SESSION_BUS_ADDRESS"

// busWithin is how long another program on the bus may take to answer.
const busWithin = 5 * time.Second

var errNoBus = errors.New("there is no session bus (D-Bus)")

// sessionBus opens a connection of its own to the session's bus: the one that is shared in this
// process is the tray's. No bus is started for it, as nobody would be on it.
func sessionBus() (*dbus.Conn, error) {
	if os.Getenv(busVariable) == "" {
		if _, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus")); err != nil || os.Getenv("XDG_RUNTIME_DIR") == "" {
			return nil, errNoBus
		}
	}
	return dbus.ConnectSessionBus()
}

// second hears from later starts of the program.
type second struct{ obey func(wish) }

// Start is called by a later start with its arguments.
func (s second) Start(args []string) *dbus.Error {
	w, err := parse(args)
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	go s.obey(w)
	return nil
}

// claim makes this the one window of its name until release. Where another has the name, that one
// is told to do what this start was asked for, and first is false. Wails' own way ends the second
// start with a failure, and then a desktop would try a browser with the address of a machine.
// Without a bus nobody can be told, and every start is the first.
func claim(id string, w wish, obey func(wish)) (first bool, release func(), err error) {
	bus, err := sessionBus()
	if errors.Is(err, errNoBus) {
		// Else WebKit would start one (dbus-launch), and may wait for it forever.
		return true, func() {}, os.Setenv(busVariable, "disabled:")
	}
	if err != nil {
		return true, func() {}, nil //nolint:nilerr // a bus that does not answer is no reason not to show the window
	}
	close := func() { _ = bus.Close() }
	name := busName + ".w" + id
	if err := bus.Export(second{obey}, busPath, busInterface); err != nil {
		close()
		return false, nil, err
	}
	reply, err := bus.RequestName(name, dbus.NameFlagDoNotQueue)
	if err != nil {
		close()
		return true, func() {}, nil //nolint:nilerr // the same
	}
	if reply == dbus.RequestNameReplyPrimaryOwner {
		return true, close, nil
	}
	defer close()
	call := bus.Object(name, busPath).Go(busInterface+".Start", 0, make(chan *dbus.Call, 1), w.args())
	select {
	case <-call.Done:
		err = call.Err
	case <-time.After(busWithin):
		err = errors.New("it does not answer")
	}
	if err != nil {
		return false, nil, fmt.Errorf("ForeverVM runs already, but cannot be brought to the front (%w)", err)
	}
	return false, nil, nil
}

// args are the arguments that parse makes the wish of.
func (w wish) args() []string {
	args := []string{"", ""}
	if w.Hidden {
		args[0] = hiddenFlag
	}
	if w.Machine != "" {
		args[1] = "forevervm://machine/" + w.Machine
	}
	return slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
}

// singleInstance is Wails' own way, which is not used here.
func singleInstance(string, func(wish)) *options.SingleInstanceLock { return nil }
