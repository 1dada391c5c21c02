//go:build real

package daemon_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/daemon"
)

func TestOneDaemonForAHome(t *testing.T) {
	d := start(t, t.TempDir()) // its own: it loses its lock
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, meanwhile := range []func() error{func() error { return nil }, func() error { return os.Remove(d.dirs.LockFile()) }} {
		if err := meanwhile(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = daemon.Run(ctx, daemon.Config{Home: d.dirs.Root, Bin: bin, Ready: func(string, string) { t.Error("a second daemon answers"); cancel() }})
		cancel()
		if !errors.Is(err, daemon.ErrRuns) || !strings.Contains(err.Error(), d.url) {
			t.Errorf("%v", err)
		}
		if found, err := d.dirs.ReadDaemon(); err != nil || found.URL != d.url {
			t.Errorf("after that, front ends find %+v, %v", found, err)
		}
	}
}

// Address, token and state outlive the daemon, and nothing of it is left when it has ended.
func TestRestart(t *testing.T) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	others := goleak.IgnoreCurrent()
	folder := t.TempDir()
	first := start(t, folder)
	c := newCaller(t, first)
	found, err := first.dirs.ReadDaemon()
	if err != nil || found.URL != first.url || found.PID != os.Getpid() || found.Version == "" || time.Since(found.StartedAt) > patience {
		t.Errorf("front ends find %+v, %v", found, err)
	}
	name := as[api.Machine](c, c.send("POST", "/api/machines", nil)).Name
	c.run(name, "x = 41\nopen('kept', 'w').write('file')")
	// A waiting call and an open socket must not hold the daemon up.
	socket := dial(t, first, name, nil)
	running := socket.exec(0, "import time\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)\nx + 1")
	waiting := make(chan int, 1)
	go func() {
		req := c.request(context.Background(), "GET", wirePath(name, running, "result"), nil)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			waiting <- 0
			return
		}
		_ = resp.Body.Close()
		waiting <- resp.StatusCode
	}()
	until(t, "the instruction to run", func() bool {
		return as[api.Instruction](c, c.send("GET", instructionPath(name, running), nil)).Status == "running"
	})

	if a := c.send("POST", "/api/shutdown", nil); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	asked := time.Now()
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("ended after %v", time.Since(asked))
	if status := <-waiting; status != 503 && status != 0 {
		t.Errorf("who waited for a result was told %d", status)
	}
	if _, err := first.dirs.ReadDaemon(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the discovery file is still there: %v", err)
	}
	_ = socket.conn.CloseNow()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goleak.VerifyNone(t, others)

	second := start(t, folder)
	if second.url != first.url || second.token != first.token {
		t.Errorf("%s in place of %s", second.url, first.url)
	}
	c = newCaller(t, second)
	c.send("PUT", "/api/machines/"+name+"/files/content?path=go", strings.NewReader(""))
	if in := c.wait(name, running); in.Value == nil || *in.Value != "42" {
		t.Errorf("what ran when the daemon ended: %+v", in)
	}
	if in := c.run(name, "open('kept').read() + str(x)"); in.Value == nil || *in.Value != "'file41'" {
		t.Errorf("%+v", in)
	}
}

// MCP is mounted behind the same token.
func TestMCPIsMounted(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	hello := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	}}
	accept := func(r *http.Request) { r.Header.Set("Accept", "application/json, text/event-stream") }
	if a := c.send("POST", "/mcp", hello, accept); a.StatusCode != 200 || !strings.Contains(string(a.body), "serverInfo") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := c.send("POST", "/mcp", hello, accept, func(r *http.Request) { r.Header.Del("Authorization") }); a.StatusCode != 401 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := c.send("POST", "/mcp", hello, accept, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); a.StatusCode != 403 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// An address that somebody else has ends the daemon, with everything that it has begun.
func TestAnAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	err = daemon.Run(t.Context(), daemon.Config{Home: t.TempDir(), Bin: bin, Listen: taken.Addr().String(), Ready: func(string, string) { t.Error("it answers") }})
	if err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("it ends with %v", err)
	}
}
