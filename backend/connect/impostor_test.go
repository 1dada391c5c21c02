//go:build !windows && real

package connect_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/home"
)

// impostor is another user's program at an address: it says what a daemon says, to everything.
type impostor struct {
	url          string
	asked, token atomic.Bool
}

func newImpostor(t *testing.T, address string) *impostor {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{url: "http://" + listener.Addr().String()}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Store(true)
		if r.Header.Get("Authorization") != "" {
			i.token.Store(true)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok","version":"0.0.1","proof":"00"}`))
	})}}
	server.Start()
	t.Cleanup(server.Close)
	return i
}

// A daemon was killed, and its port is another user's now.
func TestThePortOfAKilledDaemonIsNotTrusted(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.EnsureOwnerToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := newImpostor(t, "127.0.0.1:0")
	if err := dirs.WriteDaemon(home.Daemon{URL: other.url, PID: 1, Version: "0.0.1"}); err != nil {
		t.Fatal(err)
	}
	if c, err := connect.Running(t.Context(), opts); c != nil || err != nil {
		t.Errorf("it was found: %v, %v", c, err)
	}
	if other.asked.Load() {
		t.Error("no daemon holds the lock, yet the port was asked")
	}

	// While the next daemon starts, the lock is held, and the file may still be there.
	lock := flock.New(dirs.LockFile())
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if c, err := connect.Running(t.Context(), opts); c != nil || err != nil {
		t.Errorf("it was found: %v, %v", c, err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if status, err := daemon(t, opts).Status(t.Context()); err != nil || status.PID == 0 {
		t.Errorf("the real one: %+v, %v", status, err)
	}
	if other.token.Load() {
		t.Error("another user was told the token")
	}
}

// The daemon is killed under a client that knows it, and another user takes its port before
// anything else happens.
func TestAClientDoesNotTellTheNextOwnerOfThePort(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	c := daemon(t, opts)
	at, err := c.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	first := pid(t, c)
	kill(t, first)
	var other *impostor
	connecttest.Eventually(t, "the port is free", func() bool {
		probe, err := net.Listen("tcp", address.Host)
		if err == nil {
			_ = probe.Close()
		}
		return err == nil
	})
	other = newImpostor(t, address.Host)
	if second := pid(t, c); second == first || second == 0 {
		t.Errorf("process %d answers in place of %d", second, first)
	}
	if now, err := c.Endpoint(t.Context()); err != nil || now.URL == at.URL {
		t.Errorf("the client is still at %s (%v)", now.URL, err)
	}
	if !other.asked.Load() {
		t.Error("the other user was never asked: this test shows nothing")
	}
	if other.token.Load() {
		t.Error("another user was told the token")
	}
}
