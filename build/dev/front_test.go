package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/server"
)

// started is the front of a daemon, which has no machines, and of a vite, which says what it is
// asked.
func started(t *testing.T) (front *httptest.Server, daemon *httptest.Server, dirs home.Dirs) {
	t.Helper()
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	token, err := dirs.EnsureOwnerToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	daemon = serving(t, server.New(server.Config{Machines: struct{ server.Machines }{}, Token: token}))
	if err := dirs.WriteDaemon(home.Daemon{URL: daemon.URL}); err != nil {
		t.Fatal(err)
	}
	vite := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "vite: ", r.URL.Path) }))
	at, err := url.Parse(vite.URL)
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, newFront(dirs, at)), daemon, dirs
}

func serving(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// ask returns the status and the body of a GET with a Host and an Origin; empty ones are left as
// they are.
func ask(t *testing.T, address, host, origin string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestCallsGoToTheDaemonAndTheRestToVite(t *testing.T) {
	front, _, _ := started(t)
	for path, want := range map[string]string{
		"/":             "vite: /",
		"/src/main.ts":  "vite: /src/main.ts",
		"/health":       `"status":"ok"`,
		"/api/status":   `"code":"Unauthorized"`,
		"/v1/whoami":    `"code":"Unauthorized"`,
		"/internal/any": `"code":"NotFound"`,
	} {
		if _, body := ask(t, front.URL+path, "", ""); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestTheDaemonChecksWhoAsksThroughTheFront(t *testing.T) {
	front, _, _ := started(t)
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"", "", http.StatusOK},
		{"", front.URL, http.StatusOK},
		{"", "http://example.com", http.StatusForbidden},
		{"", "http://127.0.0.1:1", http.StatusForbidden},
		{"example.com", "", http.StatusForbidden},
		{"example.com", "http://example.com", http.StatusForbidden},
	} {
		if status, body := ask(t, front.URL+"/health", c.host, c.origin); status != c.want {
			t.Errorf("host %q, origin %q: %d %s", c.host, c.origin, status, body)
		}
	}
}

// As in the page, the proof must name the address that was asked.
func TestTheFrontProvesItself(t *testing.T) {
	front, _, dirs := started(t)
	client := handshake.Client(dirs.ReadOwnerToken, nil)
	defer client.CloseIdleConnections()
	resp, err := client.Get(front.URL + "/health")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// The page takes any answer that is no proof for a stranger's, but a lost connection for a restart.
func TestWithoutADaemonTheConnectionIsLost(t *testing.T) {
	front, daemon, _ := started(t)
	daemon.Close()
	resp, err := http.Get(front.URL + "/health")
	if err == nil {
		_ = resp.Body.Close()
		t.Errorf("answered with %s", resp.Status)
	}
}

// The address is printed when the daemon answers, which may be before vite does.
func TestWhoAsksWaitsForVite(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "vite")
	late := make(chan net.Listener, 1)
	time.AfterFunc(100*time.Millisecond, func() {
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Error(err)
		}
		late <- listener
	})
	conn, err := dialUntil(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = (<-late).Close()
}
