//go:build linux && real

package daemon_test

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/home"
)

// Another user opens more connections than the daemon may have files. People's programs go on, over
// the port and over the socket, and machines find files enough.
func TestStrangersUseNothingUp(t *testing.T) {
	const files, connections = 2000, 5000
	d := connecttest.Start(t, connecttest.Home(t))
	limit := unix.Rlimit{Cur: files, Max: files}
	if err := unix.Prlimit(d.PID, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	dirs, err := home.Resolve(d.Home)
	if err != nil {
		t.Fatal(err)
	}
	said, err := dirs.ReadDaemon()
	if err != nil || said.Socket == "" {
		t.Fatalf("the daemon names no socket: %+v, %v", said, err)
	}
	for range connections {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	port := d.Client("port")
	defer port.Close()
	socket, err := connect.Daemon(t.Context(), connect.Options{Home: d.Home, Name: "socket"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	made, err := port.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := socket.Execute(t.Context(), made.Name, api.Execute{Code: "6 * 7"})
	if err != nil {
		t.Fatal(err)
	}
	if in, err = port.Wait(t.Context(), made.Name, in.Seq); err != nil || in.Value == nil || *in.Value != "42" {
		t.Errorf("%+v, %v", in, err)
	}
	log, err := os.ReadFile(dirs.LogFile())
	if err != nil || strings.Contains(string(log), "too many open files") {
		t.Errorf("files ran out, %v:\n%s", err, log)
	}
}
