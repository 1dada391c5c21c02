//go:build !windows && real

package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

func TestMain(m *testing.M) { os.Exit(connecttest.Main(m)) }

// daemon is a client of the daemon that the tests share.
func daemon(t *testing.T) *client.Client {
	t.Helper()
	c, err := connect.Daemon(t.Context(), connect.Options{Name: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func killDaemon(t *testing.T) {
	t.Helper()
	endDaemon(t, syscall.SIGKILL)
}

// endDaemon sends the daemon a signal that ends it, and waits for its end.
func endDaemon(t *testing.T, signal syscall.Signal) {
	t.Helper()
	status, err := daemon(t).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.PID, signal); err != nil {
		t.Fatal(err)
	}
	connecttest.Eventually(t, "the daemon is dead", func() bool { return syscall.Kill(status.PID, 0) != nil })
}

func running(t *testing.T, c *client.Client, name string, seq int) func() bool {
	return func() bool {
		in, err := c.Instruction(t.Context(), name, seq, 0)
		return err == nil && in.Status == "running"
	}
}

// The app is answered at once, whatever is with the daemon.
func TestInitializeWaitsForNothing(t *testing.T) {
	start(t, connect.BaseURLVariable+"=http://127.0.0.1:9", connect.TokenVariable+"=a.b").initialize()

	daemon(t) // runs now
	best, bare := time.Hour, time.Hour
	for range 5 {
		begun := time.Now()
		if err := exec.CommandContext(t.Context(), connecttest.Program(t, "forevervm"), "--version").Run(); err != nil {
			t.Fatal(err)
		}
		bare = min(bare, time.Since(begun))
		begun = time.Now()
		a := start(t)
		a.initialize()
		best = min(best, time.Since(begun))
		a.quit()
	}
	t.Logf("from start to the answer to initialize: %v; a program that only says its version takes %v", best, bare)
	if best > 4*bare+50*time.Millisecond { // of the same moments, as the computer may be busy
		t.Errorf("that is too long")
	}
}

// Who has connected is known before anything was run, also of programs that only look whether the
// server answers, and leave or end it at once.
func TestTheDaemonHearsWhoConnects(t *testing.T) {
	known := daemon(t)
	for how, leave := range map[string]func(*app) error{
		"stays":      func(*app) error { return nil },
		"leaves":     func(a *app) error { return a.in.Close() },
		"interrupts": func(a *app) error { return a.cmd.Process.Signal(os.Interrupt) },
		"ends it":    func(a *app) error { return a.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		begun := time.Now()
		a := start(t)
		a.initialize()
		if err := leave(a); err != nil {
			t.Fatal(err)
		}
		connecttest.Eventually(t, "the daemon knows the app that "+how, func() bool {
			all, err := known.Clients(t.Context())
			return err == nil && slices.ContainsFunc(all, func(c api.ClientUse) bool {
				return c.Name == "test app" && c.Version == "7" && c.SeenAt.After(begun)
			})
		})
		a.quit()
	}
}

// Clients of the protocol without sessions, as Claude Code, say with each request who they are.
func TestTheDaemonHearsWhoConnectsWithoutInitialize(t *testing.T) {
	known := daemon(t)
	for _, method := range []string{"server/discover", "tools/list"} {
		begun := time.Now()
		a := start(t)
		var said struct {
			SupportedVersions []string
			Tools             []any
		}
		a.wait(a.send(method, map[string]any{"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "claude-code", "title": "Claude Code", "version": "2.1"},
		}}), &said)
		if len(said.SupportedVersions)+len(said.Tools) == 0 {
			t.Errorf("%s is answered with nothing", method)
		}
		a.quit()
		all, err := known.Clients(t.Context())
		if err != nil || !slices.ContainsFunc(all, func(c api.ClientUse) bool {
			return c.Name == "Claude Code" && c.Version == "2.1" && c.SeenAt.After(begun)
		}) {
			t.Errorf("%s: known are %+v, %v", method, all, err)
		}
	}
}

// Every call of a tool counts, and no other request: those that fail as well, and those on which a
// program leaves at once.
func TestCallsAreCounted(t *testing.T) {
	known := daemon(t)
	a := start(t)
	a.wait(a.send("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "busy app", "version": "1"},
	}), new(any))
	answers := make([]<-chan json.RawMessage, 50)
	for i := range answers {
		answers[i] = a.send("tools/call", map[string]any{"name": "list-python-repls", "arguments": map[string]any{"limit": i}}) // 0 is not allowed
	}
	a.wait(a.send("tools/list", map[string]any{}), new(any))
	for _, answer := range answers {
		a.wait(answer, new(any))
	}
	a.quit()
	all, err := known.Clients(t.Context())
	if err != nil || !slices.ContainsFunc(all, func(c api.ClientUse) bool { return c.Name == "busy app" && c.Calls == len(answers) }) {
		t.Errorf("known are %+v, %v", all, err)
	}
}

// The daemon is killed between two calls, and in the middle of one: work goes on, and nothing runs
// twice.
func TestWorkGoesOnWhenTheDaemonIsKilled(t *testing.T) {
	a := start(t)
	a.initialize()
	repl := a.create()
	if got := a.run(repl, "n = 0\nn").text(); got != "0" {
		t.Fatal(got)
	}
	killDaemon(t)
	if got := a.run(repl, "n += 1\nn").text(); got != "1" {
		t.Errorf("after the kill: %s", got)
	}

	answer := a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{
		"replId": repl, "pythonCode": "import time\nfor i in range(30):\n    print(i, flush=True); time.sleep(0.1)\nn += 1\nn",
	}})
	connecttest.Eventually(t, "the code runs", running(t, daemon(t), repl, 2))
	killDaemon(t)
	var r result
	a.wait(answer, &r)
	var want strings.Builder
	for i := range 30 {
		fmt.Fprintln(&want, i)
	}
	if r.text() != want.String()+"2" {
		t.Errorf("killed in its middle: %+v", r)
	}
	a.quit()
	token, err := exec.Command(connecttest.Program(t, "forevervm"), "token", "--owner").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(a.stderr.String(), strings.TrimSpace(string(token))) {
		t.Error("the token is in the log")
	}
}

// An app that goes away, as when it is quit, leaves nothing running.
func TestClosingTheInputInterrupts(t *testing.T) {
	a := start(t)
	a.initialize()
	repl, c := a.create(), daemon(t)
	a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{"replId": repl, "pythonCode": "import time; time.sleep(600)"}})
	connecttest.Eventually(t, "the code runs", running(t, c, repl, 0))
	a.quit()
	done, err := c.Wait(t.Context(), repl, 0)
	if err != nil || done.ErrorName != "KeyboardInterrupt" {
		t.Errorf("the code ended as %+v, %v", done, err)
	}
	if done.Client != (api.Client{Name: "test app", Version: "7"}) {
		t.Errorf("it is told to be %+v's", done.Client)
	}
}

// In the older protocol a broken connection is no cancellation: the code goes on.
func TestABrokenConnectionInterruptsNothing(t *testing.T) {
	c := daemon(t)
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	session := ""
	post := func(ctx context.Context, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+at.Token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		return transport.RoundTrip(req)
	}
	hello, err := post(t.Context(), `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	session = hello.Header.Get("Mcp-Session-Id")
	if err := hello.Body.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		resp, err := post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run-python-in-repl","arguments":{"replId":%q,"pythonCode":"import time; time.sleep(2); 'unharmed'"}}}`, m.Name))
		if err == nil {
			err = errors.Join(errors.New(resp.Status), resp.Body.Close())
		}
		answered <- err
	}()
	connecttest.Eventually(t, "the code runs", running(t, c, m.Name, 0))
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Fatalf("it was answered: %v", err)
	}
	if done, err := c.Wait(t.Context(), m.Name, 0); err != nil || done.Value == nil || *done.Value != "'unharmed'" {
		t.Errorf("the code ended as %+v, %v", done, err)
	}
}

// A server that speaks only the public protocol serves the tools that it has calls for. The others
// are not offered, and who calls one is told why.
func TestAServerWithOnlyTheWire(t *testing.T) {
	at, err := daemon(t).Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	hosted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer hosted.Close()
	a := start(t, connect.BaseURLVariable+"="+hosted.URL, connect.TokenVariable+"="+at.Token)
	a.initialize()
	var list struct{ Tools []struct{ Name string } }
	a.wait(a.send("tools/list", map[string]any{}), &list)
	offered := []string{}
	for _, tool := range list.Tools {
		offered = append(offered, tool.Name)
	}
	if want := []string{"run-python-in-repl", "create-python-repl", "read-output", "list-python-repls", "interrupt-python-repl", "install-packages"}; !slices.Equal(offered, want) {
		t.Errorf("it is offered %v, want %v", offered, want)
	}
	repl := a.call("create-python-repl", map[string]any{"title": "Primes"}).Content[0].Text // titles are not known there
	if got := a.run(repl, "6 * 7").text(); got != "42" {
		t.Errorf("6 * 7 is %s", got)
	}
	plot := a.run(repl, "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()")
	if len(plot.Content) != 3 || plot.Content[1].Type != "resource_link" || plot.Content[2].Type != "image" {
		t.Errorf("a plot comes back as %d items", len(plot.Content))
	}
	if said := a.call("checkpoint-python-repl", map[string]any{"replId": repl}); !said.IsError || !strings.Contains(said.Content[0].Text, "only the ForeverVM wire") {
		t.Errorf("a checkpoint: %+v", said)
	}
	a.quit() // before its server
}

// Nothing over MCP raises a limit or deletes for good.
func TestMCPCannotDoHarm(t *testing.T) {
	a := start(t)
	a.initialize()
	if said := a.call("create-python-repl", map[string]any{"memoryMb": 4096}); !said.IsError || !strings.Contains(said.Content[0].Text, "2,048") && !strings.Contains(said.Content[0].Text, "2048") {
		t.Errorf("more memory than the default: %+v", said)
	}
	// What no tool has is not there to be asked for: the machine is as any other.
	odd := a.call("create-python-repl", map[string]any{
		"title": "x", "engine": "docker", "image": "../x", "network": map[string]any{"mode": "public"}, "shared": "/", "folder": "/etc", "memory_mb": 1 << 30, "memoryMB": 1 << 30,
		"path": "/", "writable": true, "id": "../../x", "name": "../../x",
	})
	if odd.IsError {
		t.Fatalf("%+v", odd)
	}
	c, repl := daemon(t), odd.Content[0].Text
	plain, err := c.Machine(t.Context(), a.create())
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine(t.Context(), repl)
	if err != nil || m.Engine != plain.Engine || m.Image != plain.Image || m.MemoryMB != plain.MemoryMB || m.Shared != nil || !reflect.DeepEqual(m.Network, plain.Network) {
		t.Errorf("%+v, %v", m, err)
	}
	var list struct{ Tools []struct{ Name string } }
	a.wait(a.send("tools/list", map[string]any{}), &list)
	for _, tool := range list.Tools {
		for _, word := range []string{"network", "setting", "share", "token", "purge", "limit", "open", "app"} {
			if strings.Contains(tool.Name, word) {
				t.Errorf("there is a tool %s", tool.Name)
			}
		}
	}
	for _, name := range []string{"change-settings", "share-folder", "purge-python-repl", "../api/settings", "", "create-python-repl/../x"} {
		if said := a.call(name, map[string]any{"replId": repl}); len(said.Content) > 0 && !said.IsError {
			t.Errorf("the tool %q answers %+v", name, said)
		}
	}
	// A name is one, and leads to no other call.
	for _, name := range []string{"", ".", "..", "../" + repl, repl + "/", repl + "/shared", repl + "?purge=true", repl + "#x", repl + "%2e", "%2e%2e", "%2e%2e%2fsettings", repl + "\n", repl + "\x00", "..\\" + repl, "a b"} {
		for tool, more := range map[string]map[string]any{
			"run-python-in-repl": {"pythonCode": "1"}, "read-output": {"waitSeconds": 0}, "delete-python-repl": {}, "checkpoint-python-repl": {}, "interrupt-python-repl": {},
		} {
			arguments := map[string]any{"replId": name}
			maps.Copy(arguments, more)
			if said := a.call(tool, arguments); !said.IsError {
				t.Errorf("%s of %q: %+v", tool, name, said)
			}
		}
	}
	// Resources are those of machines.
	for _, uri := range []string{
		"file:///etc/passwd", "forevervm://machine/../settings", "forevervm://machine/" + repl + "/../../settings", "forevervm://machine/%2e%2e/transcript", "forevervm://machine/..%2f..%2fsettings/transcript",
		"forevervm://machine/" + repl + "/file/%2e%2e/etc/passwd", "forevervm://machine/" + repl + "/instruction/-1/output", "forevervm://machine/" + repl + "/instruction/99999999999/output",
		"forevervm://machine/" + repl + "/transcript?x", "http://127.0.0.1/", "forevervm://settings", "",
	} {
		var said struct {
			Code     int
			Contents []any
		}
		if a.wait(a.send("resources/read", map[string]any{"uri": uri}), &said); said.Code == 0 || len(said.Contents) > 0 {
			t.Errorf("%s is %+v", uri, said)
		}
	}
	// Paths are those of the machine.
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("TOPSECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, "/mnt/shared/../.." + secret, "file://" + secret, "/proc/self/root" + secret, "/mnt/shared/x"} {
		if said := a.call("get-file", map[string]any{"replId": repl, "path": path}); !said.IsError || strings.Contains(fmt.Sprint(said), "TOPSECRET") {
			t.Errorf("%s is %+v", path, said)
		}
	}
	for range 2 {
		a.call("delete-python-repl", map[string]any{"replId": repl})
	}
	if m, err := c.RestoreMachine(t.Context(), repl); err != nil || m.Name != repl {
		t.Errorf("a deleted machine cannot be restored: %v", err)
	}
}

// Code may run for half an hour over MCP, unless the call says otherwise.
func TestTheLimitOfAnInstruction(t *testing.T) {
	a := start(t)
	a.initialize()
	repl, c := a.create(), daemon(t)
	for want, more := range map[float64]map[string]any{1800: {}, 7200: {"timeoutSeconds": 7200}} {
		arguments := map[string]any{"replId": repl, "pythonCode": "1"}
		maps.Copy(arguments, more)
		a.call("run-python-in-repl", arguments)
		latest, err := c.Instructions(t.Context(), repl, client.InstructionQuery{Newest: true, Limit: 1})
		if err != nil || latest.Items[0].TimeoutSeconds != want {
			t.Errorf("with %v the instruction is %+v, want a limit of %v s (%v)", more, latest.Items, want, err)
		}
	}
}

// Several calls of one app run at once, each on its own machine, and each gets its own answer.
func TestCallsRunSideBySide(t *testing.T) {
	a := start(t)
	a.initialize()
	const many = 8
	answers := make([]<-chan json.RawMessage, many)
	for i := range many {
		repl := a.create()
		answers[i] = a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{
			"replId": repl, "pythonCode": fmt.Sprintf("import time; time.sleep(1); %d", i),
		}})
	}
	for i, answer := range answers {
		var r result
		a.wait(answer, &r)
		if r.text() != fmt.Sprint(i) {
			t.Errorf("call %d: %s", i, r.text())
		}
	}
}

// A client of the protocol before links to resources gets none: it would refuse the whole reply.
func TestLinksAreForThoseThatKnowThem(t *testing.T) {
	for revision, links := range map[string]bool{"2025-03-26": false, "2025-06-18": true} {
		a := start(t)
		a.wait(a.send("initialize", map[string]any{
			"protocolVersion": revision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test app", "version": "7"},
		}), new(any))
		plot := a.run(a.create(), "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()")
		var types []string
		for _, item := range plot.Content {
			types = append(types, item.Type)
		}
		if slices.Contains(types, "resource_link") != links || !slices.Contains(types, "image") {
			t.Errorf("in %s a plot comes as %v", revision, types)
		}
		a.quit()
	}
}
