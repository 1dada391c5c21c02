//go:build !windows && real

package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

const (
	stateless = "2026-07-28"
	older     = "2025-06-18"
	forLong   = "print('begun', flush=True)\nimport time; time.sleep(600)"
)

// endpoint is the daemon's MCP over HTTP.
type endpoint struct {
	t       *testing.T
	at      client.Endpoint
	http    *http.Transport
	session string // of the older protocol
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	at, err := daemon(t).Endpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{t: t, at: at, http: &http.Transport{}}
	t.Cleanup(e.http.CloseIdleConnections)
	return e
}

// initialized is one with a session of the older protocol.
func initialized(t *testing.T) *endpoint {
	t.Helper()
	e := newEndpoint(t)
	hello, err := e.post(t.Context(), older, "initialize", 0, map[string]any{
		"protocolVersion": older, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "a", "version": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.session = hello.Header.Get("Mcp-Session-Id")
	if err := hello.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return e
}

// post sends a message; a notification where id is nil.
func (e *endpoint) post(ctx context.Context, version, method string, id any, params map[string]any) (*http.Response, error) {
	e.t.Helper()
	message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		message["id"] = id
	}
	meta := map[string]any{}
	if version == stateless {
		meta["io.modelcontextprotocol/protocolVersion"] = version
		meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "stateless app", "version": "1"}
	}
	if method == "tools/call" {
		meta["progressToken"] = "p"
	}
	params["_meta"] = meta
	body, err := json.Marshal(message)
	if err != nil {
		e.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.at.URL+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		e.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+e.at.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	if version == stateless {
		req.Header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	} else if e.session != "" {
		req.Header.Set("Mcp-Session-Id", e.session)
	}
	return e.http.RoundTrip(req)
}

// answer is what came back of a call.
type answer struct {
	status int
	body   string
	err    error
}

// run runs code and returns where the answer will be.
func (e *endpoint) run(ctx context.Context, version string, id int, repl, code string) <-chan answer {
	e.t.Helper()
	came := make(chan answer, 1)
	go func() {
		resp, err := e.post(ctx, version, "tools/call", id, map[string]any{
			"name": "run-python-in-repl", "arguments": map[string]any{"replId": repl, "pythonCode": code},
		})
		if err != nil {
			came <- answer{err: err}
			return
		}
		body, err := io.ReadAll(resp.Body)
		came <- answer{resp.StatusCode, string(body), errors.Join(err, resp.Body.Close())}
	}()
	return came
}

func newREPL(t *testing.T, c *client.Client) string {
	t.Helper()
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Name
}

func wasInterrupted(t *testing.T, c *client.Client, repl string, seq int) {
	t.Helper()
	if done, err := c.Instruction(t.Context(), repl, seq, connecttest.Patience); err != nil || done.ErrorName != "KeyboardInterrupt" {
		t.Fatalf("the code ended as %+v, %v", done, err)
	}
}

// Since 2026-07-28 a client cancels by closing the stream of the answer, and says nothing else.
func TestClosingTheStreamCancels(t *testing.T) {
	e, c := newEndpoint(t), daemon(t)
	repl := newREPL(t, c)
	for seq, code := range []string{"import time; time.sleep(600)", forLong} { // without a stream yet, and with one
		ctx, leave := context.WithCancel(t.Context())
		came := e.run(ctx, stateless, 1, repl, code)
		connecttest.Eventually(t, "the code runs", running(t, c, repl, seq))
		leave()
		if a := <-came; !errors.Is(a.err, context.Canceled) {
			t.Fatalf("it was answered: %+v", a)
		}
		wasInterrupted(t, c, repl, seq)
	}
	if a := <-e.run(t.Context(), stateless, 2, repl, "6 * 7"); !strings.Contains(a.body, `"text":"42"`) {
		t.Errorf("the next call: %+v", a)
	}
}

// Over HTTP without sessions all clients number their requests alike: what one says of a number is
// not about another's request.
func TestNobodyCancelsAnothersRequest(t *testing.T) {
	e, other, c := newEndpoint(t), newEndpoint(t), daemon(t)
	repl := newREPL(t, c)
	came := e.run(t.Context(), stateless, 7, repl, "import time; time.sleep(1); 'unharmed'")
	connecttest.Eventually(t, "the code runs", running(t, c, repl, 0))
	resp, err := other.post(t.Context(), stateless, "notifications/cancelled", nil, map[string]any{"requestId": 7})
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Errorf("%v, %v", resp, err)
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	if a := <-came; !strings.Contains(a.body, "'unharmed'") {
		t.Errorf("%+v", a)
	}
}

// A cancelled request has no answer: over HTTP the stream ends without one.
func TestACancelledRequestOverHTTPHasNoAnswer(t *testing.T) {
	e, c := initialized(t), daemon(t)
	repl := newREPL(t, c)
	for seq, code := range []string{"import time; time.sleep(600)", forLong} {
		came := e.run(t.Context(), older, seq+1, repl, code)
		connecttest.Eventually(t, "the code runs", running(t, c, repl, seq))
		said, err := e.post(t.Context(), older, "notifications/cancelled", nil, map[string]any{"requestId": seq + 1})
		if err != nil {
			t.Fatal(err)
		}
		_ = said.Body.Close()
		a := <-came
		if a.err != nil || a.status != http.StatusOK || strings.Contains(a.body, `"id"`) || strings.Contains(a.body, "error") {
			t.Errorf("it was answered: %+v", a)
		}
		wasInterrupted(t, c, repl, seq)
	}
}

// The same over SSE.
func TestACancelledRequestOverSSEHasNoAnswer(t *testing.T) {
	e, c := newEndpoint(t), daemon(t)
	repl := newREPL(t, c)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.at.URL+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+e.at.Token)
	stream, err := e.http.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	events.Buffer(nil, 1<<20)
	next := func() string { // the data of the next event
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", events.Err())
		return ""
	}
	to := strings.TrimSpace(next())
	post := func(message string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.at.URL+to, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+e.at.Token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := e.http.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%s, %v", resp.Status, err)
		}
	}
	call := func(id int, code string) {
		t.Helper()
		quoted, err := json.Marshal(code)
		if err != nil {
			t.Fatal(err)
		}
		post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run-python-in-repl","arguments":{"replId":%q,"pythonCode":%s}}}`, id, repl, quoted))
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
	next()
	call(1, forLong)
	connecttest.Eventually(t, "the code runs", running(t, c, repl, 0))
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	call(2, "6 * 7")
	if said := next(); !strings.Contains(said, `"id":2`) {
		t.Errorf("the next answer is %s", said)
	}
	wasInterrupted(t, c, repl, 0)
}

// The same over standard input and output. The last call is answered after the cancelled one was
// over.
func TestACancelledRequestOverStdioHasNoAnswer(t *testing.T) {
	a := start(t)
	a.initialize()
	repl, c := a.create(), daemon(t)
	cancelled := a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{"replId": repl, "pythonCode": forLong}})
	connecttest.Eventually(t, "the code runs", running(t, c, repl, 0))
	a.cancelLast()
	if got := a.run(repl, "6 * 7").text(); got != "42" {
		t.Errorf("the next call: %s", got)
	}
	wasInterrupted(t, c, repl, 0)
	a.quit()
	select {
	case said := <-cancelled:
		t.Errorf("it was answered: %s", said)
	default:
	}
}

// Who changes their mind at once leaves nothing running, at whatever moment the call is.
func TestCancellingAtOnce(t *testing.T) {
	c := daemon(t)
	left := func(t *testing.T, repl string) {
		t.Helper()
		page, err := c.Instructions(t.Context(), repl, client.InstructionQuery{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range page.Items {
			if !client.Done(in) {
				t.Errorf("instruction %d is %s", in.Seq, in.Status)
			}
		}
	}
	const many = 30
	t.Run("stdio", func(t *testing.T) {
		a := start(t)
		a.initialize()
		repl := a.create()
		for range many {
			a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{"replId": repl, "pythonCode": forLong}})
			a.cancelLast()
		}
		if got := a.run(repl, "6 * 7").text(); got != "42" {
			t.Errorf("the next call: %s", got)
		}
		left(t, repl)
	})
	t.Run("http", func(t *testing.T) {
		e, repl := newEndpoint(t), newREPL(t, c)
		for i := range many {
			ctx, leave := context.WithCancel(t.Context())
			came := e.run(ctx, stateless, i, repl, forLong)
			connecttest.Eventually(t, "it is there", func() bool {
				page, err := c.Instructions(t.Context(), repl, client.InstructionQuery{Limit: 500})
				return err == nil && len(page.Items) == i+1
			})
			leave()
			<-came
		}
		if a := <-e.run(t.Context(), stateless, many, repl, "6 * 7"); !strings.Contains(a.body, `"text":"42"`) {
			t.Errorf("the next call: %+v", a)
		}
		left(t, repl)
	})
}
