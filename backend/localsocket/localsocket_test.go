//go:build !windows

package localsocket_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/localsocket"
)

// folder is short: a socket's path may have 103 bytes.
func folder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "sock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(path) })
	return path
}

// greet says "hello" to each connection.
func greet(t *testing.T, address string) {
	t.Helper()
	listener, err := localsocket.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
}

// heard is what the other end says; "" where it hangs up.
func heard(conn net.Conn) string {
	said := make([]byte, 5)
	n, _ := conn.Read(said)
	return string(said[:n])
}

func TestTheUsersOwnProgramsConnect(t *testing.T) {
	address := localsocket.Address(folder(t), "")
	if err := os.WriteFile(address, nil, 0o600); err != nil { // a killed daemon leaves its socket
		t.Fatal(err)
	}
	greet(t, address)
	conn, err := localsocket.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := heard(conn); got != "hello" {
		t.Errorf("heard %q", got)
	}
	if info, err := os.Stat(address); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAPathMayBeTooLong(t *testing.T) {
	long := filepath.Join("/", strings.Repeat("x", 100))
	if got := localsocket.Address(long, ""); got != "" {
		t.Errorf("%q", got)
	}
}

func TestTheSocketIsPreferred(t *testing.T) {
	address := localsocket.Address(folder(t), "")
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	reach := func(socket string) string {
		t.Helper()
		dial := localsocket.Prefer(func(string) string { return socket })
		conn, err := dial(context.Background(), "tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.RemoteAddr().Network()
	}
	if got := reach(address); got != "tcp" { // nobody listens there yet
		t.Errorf("without a socket: %s", got)
	}
	greet(t, address)
	if got := reach(address); got != "unix" {
		t.Errorf("with a socket: %s", got)
	}
	if got := reach(""); got != "tcp" {
		t.Errorf("where none is known: %s", got)
	}
}
