//go:build !windows

package localsocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// longest is the most bytes that a socket's path may have: macOS takes 104, with a NUL at the end.
const longest = 103

// Address names the socket of a home whose run-time folder is dir; "" where the path is too long
// for one.
func Address(dir, _ string) string {
	if path := filepath.Join(dir, "daemon.sock"); len(path) <= longest {
		return path
	}
	return ""
}

// Listen opens the socket at an address, in the place of one that an ended daemon has left. The
// caller makes sure that no other daemon uses it.
func Listen(address string) (net.Listener, error) {
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, errors.Join(err, at.Close())
	}
	return listener{at}, nil
}

// Dial connects to the socket at an address.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: within}).DialContext(ctx, "unix", address)
}

// listener hangs up on other users.
type listener struct{ *net.UnixListener }

// Accept returns the next connection of this user, or of root.
func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := user(conn); err == nil && (uid == os.Geteuid() || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// user is the id of the user at the other end of a connection.
func user(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	if failed := raw.Control(func(fd uintptr) { uid, err = peer(int(fd)) }); failed != nil {
		return 0, failed
	}
	if err != nil {
		return 0, fmt.Errorf("who connects cannot be told: %w", err)
	}
	return uid, nil
}
