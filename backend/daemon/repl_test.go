//go:build real

package daemon_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/wire"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// socket is a client's side of a WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
	name string
}

type dialRequest struct {
	url    string
	header http.Header
}

// dial opens a socket to a machine and reads its first message.
func dial(t *testing.T, d *running, name string, change func(*dialRequest)) *socket {
	t.Helper()
	conn, resp, err := tryDial(t, d, name, change)
	if err != nil {
		t.Fatalf("%v (%v)", err, resp)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(wire.MaxMessage)
	s := &socket{t: t, conn: conn}
	connected, ok := s.next().(wire.Connected)
	if !ok || connected.MachineName == "" {
		t.Fatalf("the first message is %+v", connected)
	}
	s.name = connected.MachineName
	return s
}

func tryDial(t *testing.T, d *running, name string, change func(*dialRequest)) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	request := dialRequest{
		url:    strings.Replace(d.url, "http://", "ws://", 1) + "/v1/machine/" + name + "/repl",
		header: http.Header{"Authorization": {"Bearer " + d.token}},
	}
	if change != nil {
		change(&request)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return websocket.Dial(ctx, request.url, &websocket.DialOptions{HTTPHeader: request.header, Host: request.header.Get("Host")}) //nolint:bodyclose // closed by the library
}

func (s *socket) next() wire.FromServer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	_, data, err := s.conn.Read(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), `{"type":"`) {
		s.t.Fatalf("the type does not come first in %s", data)
	}
	m, err := wire.Decode(data)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func (s *socket) write(v any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Write(ctx, websocket.MessageText, data); err != nil {
		s.t.Fatal(err)
	}
}

// exec sends code and returns the number it got.
func (s *socket) exec(request int64, code string) int {
	s.t.Helper()
	timeout := 100.0
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: code, TimeoutSeconds: &timeout}, RequestID: request})
	received, ok := s.next().(wire.ExecReceived)
	if !ok || received.RequestID != request {
		s.t.Fatalf("exec %d was answered by %+v", request, received)
	}
	return received.Seq
}

// drain reads an instruction's output to its result.
func (s *socket) drain(seq int, chunk func(wire.Chunk)) wire.ExecResult {
	s.t.Helper()
	for {
		switch m := s.next().(type) {
		case wire.Output:
			if m.InstructionID != seq {
				s.t.Fatalf("output of %d among that of %d", m.InstructionID, seq)
			}
			if chunk != nil {
				chunk(m.Chunk)
			}
		case wire.Result:
			if m.InstructionID != seq {
				s.t.Fatalf("the result of %d in place of that of %d", m.InstructionID, seq)
			}
			return m.Result
		default:
			s.t.Fatalf("%+v in the middle of instruction %d", m, seq)
		}
	}
}

func TestSocket(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	s := dial(t, c.d, "new", nil)
	defer c.send("DELETE", "/api/machines/"+s.name+"?purge=true", nil)
	if seq := s.exec(7, "print('a')\nprint('b', end='')\n1 + 1"); seq != 0 {
		t.Errorf("the first instruction has the number %d", seq)
	}
	var lines []string
	result := s.drain(0, func(chunk wire.Chunk) { lines = append(lines, chunk.Data) })
	if strings.Join(lines, "|") != "a|b" || result.Value == nil || *result.Value != "2" || result.Data != nil {
		t.Errorf("%q %+v", lines, result)
	}
	// A second client of the same machine sees its own instructions only, on the same variables.
	s.exec(8, "x = 5")
	s.drain(1, nil)
	other := dial(t, c.d, s.name, nil)
	if other.name != s.name {
		t.Errorf("connected to %s in place of %s", other.name, s.name)
	}
	seq := other.exec(0, "x")
	if result := other.drain(seq, nil); result.Value == nil || *result.Value != "5" {
		t.Errorf("%+v", result)
	}
	if mine := s.exec(9, "x + 1"); mine != seq+1 {
		t.Errorf("number %d follows %d", mine, seq)
	}
	if result := s.drain(seq+1, nil); result.Value == nil || *result.Value != "6" {
		t.Errorf("%+v", result)
	}
}

func TestSocketIsRefusedBeforeTheUpgrade(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	binned := c.machine()
	if a := c.send("DELETE", "/api/machines/"+binned, nil); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	before := len(as[wire.ListMachinesResponse](c, c.send("GET", "/v1/machine/list", nil)).Machines)
	for what, test := range map[string]struct {
		name   string
		change func(*dialRequest)
		want   int
	}{
		"no token":        {name, func(r *dialRequest) { r.header.Del("Authorization") }, 401},
		"wrong token":     {name, func(r *dialRequest) { r.header.Set("Authorization", "Bearer a.b") }, 401},
		"wrong parameter": {name, func(r *dialRequest) { r.header.Del("Authorization"); r.url += "?_forevervm_jwt=a.b" }, 401},
		"no machine":      {"nobody-here", nil, 404},
		"another page":    {name, func(r *dialRequest) { r.header.Set("Origin", "https://evil.example") }, 403},
		"in the bin":      {binned, nil, 404},
		"no token, new":   {"new", func(r *dialRequest) { r.header.Del("Authorization") }, 401},
	} {
		conn, resp, err := tryDial(t, c.d, test.name, test.change)
		if err == nil {
			_ = conn.CloseNow()
			t.Errorf("%s: let in", what)
			continue
		}
		if resp == nil || resp.StatusCode != test.want {
			t.Errorf("%s: %v, want %d", what, resp, test.want)
		}
	}
	if after := len(as[wire.ListMachinesResponse](c, c.send("GET", "/v1/machine/list", nil)).Machines); after != before {
		t.Errorf("%d machines were made by sockets that were refused", after-before)
	}
}

// A browser sets no headers, the Rust SDK sends its host without the port.
func TestSocketsOfBrowsersAndOfRust(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	browser := dial(t, c.d, name, func(r *dialRequest) {
		r.header.Del("Authorization")
		r.header.Set("Origin", c.d.url)
		r.url += "?_forevervm_jwt=" + c.d.token
	})
	browser.drain(browser.exec(0, "1"), nil)
	rust := dial(t, c.d, name, func(r *dialRequest) {
		r.header.Set("Host", "127.0.0.1")
		r.header.Set("X-Forevervm-Sdk", "rust")
	})
	sent := time.Now()
	seq := rust.exec(0, "1")
	if took := time.Since(sent); took < 2*time.Millisecond {
		t.Errorf("the Rust SDK was answered after %v, before it is ready", took)
	}
	rust.drain(seq, nil)
	in := as[api.Instruction](c, c.send("GET", instructionPath(name, seq), nil))
	if in.Client.Name != "forevervm-sdk rust" {
		t.Errorf("the history names %+v", in.Client)
	}
}

// After an error message the SDKs would hang: what cannot be run has a result that says so.
func TestSocketAnswersEveryExec(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	s := dial(t, c.d, name, nil)
	zero := 0.0
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: "1", TimeoutSeconds: &zero}, RequestID: 3})
	received, ok := s.next().(wire.ExecReceived)
	if !ok || received.RequestID != 3 {
		t.Fatalf("%+v", received)
	}
	if result := s.drain(received.Seq, nil); result.Error == nil || !strings.Contains(*result.Error, "timeout_seconds") {
		t.Errorf("%+v", result)
	}
	for _, nonsense := range []any{"hello", map[string]any{"type": "dance"}, map[string]any{"type": "exec", "instruction": 5}} {
		s.write(nonsense)
		if m, ok := s.next().(wire.SocketError); !ok || m.Code != "InvalidMessage" {
			t.Errorf("%v was answered by %+v", nonsense, m)
		}
	}
	// What can be answered is answered, though it makes no sense.
	s.write(map[string]any{"type": "exec", "instruction": map[string]any{"code": "1", "timeout_seconds": "5"}, "request_id": 11})
	s.rejected(11, "timeout_seconds")
	s.write(map[string]any{"type": "exec", "instruction": 5, "request_id": 12})
	s.rejected(12, "instruction")
	// Without a timeout the default holds.
	s.write(map[string]any{"type": "exec", "instruction": map[string]any{"code": "1"}, "request_id": 4})
	seq := s.next().(wire.ExecReceived).Seq
	s.drain(seq, nil)
	if in := as[api.Instruction](c, c.send("GET", instructionPath(name, seq), nil)); in.TimeoutSeconds != 15 {
		t.Errorf("the default timeout is %v", in.TimeoutSeconds)
	}
	// The machine goes while its code runs, and is gone for the next.
	running := s.exec(5, "import time\nprint('on', flush=True)\ntime.sleep(100)")
	if m, ok := s.next().(wire.Output); !ok || m.Chunk.Data != "on" {
		t.Fatalf("%+v", m)
	}
	if a := c.send("DELETE", "/api/machines/"+name+"?purge=true", nil); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if result := s.drain(running, nil); result.Error == nil {
		t.Errorf("%+v", result)
	}
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: "1"}, RequestID: 6})
	received, ok = s.next().(wire.ExecReceived)
	if !ok || received.RequestID != 6 {
		t.Fatalf("%+v", received)
	}
	if result := s.drain(received.Seq, nil); result.Error == nil {
		t.Errorf("%+v", result)
	}
}

// rejected reads the answers to an exec that was not taken.
func (s *socket) rejected(request int64, because string) {
	s.t.Helper()
	received, ok := s.next().(wire.ExecReceived)
	if !ok || received.RequestID != request || received.Seq >= 0 {
		s.t.Fatalf("exec %d was answered by %+v", request, received)
	}
	if result := s.drain(received.Seq, nil); result.Error == nil || !strings.Contains(*result.Error, because) {
		s.t.Errorf("the result %+v does not speak of %s", result, because)
	}
}

// A message that is too large costs nobody else's instruction, nor the socket.
func TestTooLargeMessagesLeaveTheSocket(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	s := dial(t, c.d, name, nil)
	running := s.exec(1, "import os\nwhile not os.path.exists('go'): pass\n'finished'")
	large := strings.Repeat("x", wire.MaxMessage)
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: large}, RequestID: 2})
	s.rejected(2, "8 MiB")
	s.write(map[string]any{"type": "exec", "instruction": map[string]any{"code": large + large}})
	if m, ok := s.next().(wire.Message); !ok || m.Level != "error" || !strings.Contains(m.Message, "8 MiB") {
		t.Errorf("without a request_id it was answered by %+v", m)
	}
	if a := c.send("PUT", "/api/machines/"+name+"/files/content?path=go", strings.NewReader("")); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if result := s.drain(running, nil); result.Value == nil || *result.Value != "'finished'" {
		t.Errorf("%+v", result)
	}
	// As large as is allowed, it is read, and the code is too large for a machine.
	room := wire.MaxMessage - len(`{"type":"exec","instruction":{"code":""},"request_id":3}`)
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: large[:room]}, RequestID: 3})
	s.rejected(3, "4 MiB")
	if result := s.drain(s.exec(4, "1"), nil); result.Value == nil || *result.Value != "1" {
		t.Errorf("%+v", result)
	}
}

// The wire knows no bin: what is in it is not there, on every way in, and the answer says how it
// comes back.
func TestTheWireFindsNothingInTheBin(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	s := dial(t, c.d, name, nil)
	if a := c.send("DELETE", "/api/machines/"+name, nil); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	how := "forevervm machine restore " + name
	a := c.send("POST", "/v1/machine/"+name+"/exec", wire.Exec{Instruction: wire.Instruction{Code: "1"}})
	c.fails(a, 404, "MachineNotFound")
	if !strings.Contains(string(a.body), how) {
		t.Errorf("%s", a.body)
	}
	c.fails(c.send("GET", "/v1/machine/"+name+"/repl", nil, func(r *http.Request) {
		for key, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
			r.Header.Set(key, value)
		}
	}), 404, "MachineNotFound")
	s.write(wire.ExecMessage{Type: wire.TypeExec, Instruction: wire.Instruction{Code: "1"}, RequestID: 1})
	s.rejected(1, how)
	// Our own API knows the bin.
	c.fails(c.send("POST", "/api/machines/"+name+"/instructions", api.Execute{Code: "1"}), 409, "Conflict")
}

func TestADroppedSocketStopsNothing(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	s := dial(t, c.d, name, nil)
	seq := s.exec(0, "import os\nwhile not os.path.exists('go'): pass\n'finished'")
	_ = s.conn.CloseNow()
	if a := c.send("PUT", "/api/machines/"+name+"/files/content?path=go", strings.NewReader("")); a.StatusCode != 204 {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	result := as[wire.ExecResultResponse](c, c.send("GET", wirePath(name, seq, "result"), nil)).Result
	if result.Value == nil || *result.Value != "'finished'" {
		t.Errorf("%+v", result)
	}
	again := dial(t, c.d, name, nil)
	again.drain(again.exec(0, "1"), nil)
}

// An open socket is no use of its machine.
func TestOpenSocketsAreCheapAndWakeNothing(t *testing.T) {
	c := newCaller(t, sharedDaemon(t))
	name := c.machine()
	c.run(name, "1")
	if m := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/swap", nil)); m.State != "swapped" {
		t.Fatalf("%+v", m)
	}
	// The daemon keeps what left memory meanwhile, which takes some, too: so of several hundreds of
	// sockets the middle one counts.
	const many = 100
	taken := make([]int64, 5)
	var last *socket
	goroutines := runtime.NumGoroutine()
	for i := range taken {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range many {
			last = dial(t, c.d, name, nil)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		taken[i] = (int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)) / many
	}
	slices.Sort(taken)
	each, perSocket := taken[len(taken)/2], float64(runtime.NumGoroutine()-goroutines)/float64(many*len(taken))
	t.Logf("an idle socket takes %d bytes and %.1f goroutines, both sides together", each, perSocket)
	if each > 64<<10 || perSocket > 3 {
		t.Errorf("an idle socket takes %d bytes and %.1f goroutines", each, perSocket)
	}
	if m := as[api.Machine](c, c.send("GET", "/api/machines/"+name, nil)); m.State != "swapped" {
		t.Errorf("connecting brought the machine to %s", m.State)
	}
	for _, m := range as[wire.ListMachinesResponse](c, c.send("GET", "/v1/machine/list", nil)).Machines {
		if m.Name == name && m.Running {
			t.Error("a swapped machine is listed as running")
		}
	}
	if result := last.drain(last.exec(0, "2"), nil); result.Value == nil || *result.Value != "2" {
		t.Errorf("%+v", result)
	}
}
