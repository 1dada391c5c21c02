//go:build linux

// Package keyringtest runs a real GNOME Keyring for tests, on a bus of its own: it shares nothing
// with the one of anyone who runs them.
package keyringtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	patience = time.Minute // never reached when all is well
	name     = "org.freedesktop.secrets"
	path     = "/org/freedesktop/secrets"
	iface    = "org.freedesktop.Secret.Service"
)

// Variable names the environment variable in which programs find the bus.
const Variable = "DBUS_SESSION_BUS_ADDRESS"

// Keyring is one that runs.
type Keyring struct {
	Address string // of the bus
	folder  string
	bus     *exec.Cmd
	daemon  *exec.Cmd // nil once it was ended
	said    bytes.Buffer
}

// Nothing on this bus is started by asking for it, so that without a keyring there is none.
const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
  %s
</busconfig>
`

// Start starts a bus and, on it, a keyring that is unlocked. The caller ends it with Close.
func Start() (*Keyring, error) { return start("") }

// StartDenying starts one that no program may speak to. The caller ends it with Close.
func StartDenying() (*Keyring, error) {
	return start(`<policy context="mandatory"><deny send_destination="` + name + `"/></policy>`)
}

func start(policy string) (_ *Keyring, err error) {
	k := &Keyring{}
	if k.folder, err = os.MkdirTemp("", "keyring-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a keyring (build/deps.sh test installs what is missing): %w\n%s", err, k.said.String()), k.Close())
		}
	}()
	socket := filepath.Join(k.folder, "bus")
	k.Address = "unix:path=" + socket
	file := filepath.Join(k.folder, "bus.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, socket, policy), 0o600); err != nil {
		return nil, err
	}
	k.bus = exec.Command("dbus-daemon", "--config-file="+file, "--nofork", "--nopidfile")
	if err := k.bus.Start(); err != nil {
		return nil, err
	}
	// The socket is there a moment before anybody listens at it.
	err = until(func() error {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		return nil, err
	}
	return k, k.startDaemon()
}

func (k *Keyring) startDaemon() error {
	k.daemon = exec.Command("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", "--control-directory="+k.folder)
	k.daemon.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.folder, "XDG_RUNTIME_DIR=" + k.folder, "XDG_DATA_HOME=" + filepath.Join(k.folder, "data"), Variable + "=" + k.Address}
	k.daemon.Stdin = strings.NewReader("\n") // the password
	k.daemon.Stdout, k.daemon.Stderr = io.Discard, &k.said
	if err := k.daemon.Start(); err != nil {
		k.daemon = nil
		return err
	}
	return k.onBus(func(conn *dbus.Conn) error {
		return until(func() error {
			var owned bool
			if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned); err != nil || owned {
				return err
			}
			return errors.New("the keyring does not come up")
		})
	})
}

// Lock locks everything in it, as at the end of a person's day. Nothing here could unlock it again.
func (k *Keyring) Lock() error {
	return k.onBus(func(conn *dbus.Conn) error {
		service := conn.Object(name, path)
		all, err := service.GetProperty(iface + ".Collections")
		if err != nil {
			return err
		}
		return service.Call(iface+".Lock", 0, all.Value()).Err
	})
}

// EndDaemon ends the keyring; the bus stays.
func (k *Keyring) EndDaemon() error {
	if k.daemon == nil {
		return nil
	}
	err := k.daemon.Process.Kill()
	_ = k.daemon.Wait() // it was killed
	k.daemon = nil
	return err
}

// Close ends everything and removes it.
func (k *Keyring) Close() error {
	err := k.EndDaemon()
	if k.bus != nil && k.bus.Process != nil {
		err = errors.Join(err, k.bus.Process.Kill())
		_ = k.bus.Wait() // it was killed
	}
	return errors.Join(err, os.RemoveAll(k.folder))
}

func (k *Keyring) onBus(do func(*dbus.Conn) error) error {
	conn, err := dbus.Connect(k.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing of it is needed any more
	return do(conn)
}

// until waits for something to work; when time is up, it returns why it does not.
func until(ok func() error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if err := ok(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
