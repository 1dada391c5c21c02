//go:build !windows && real

package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// app is an AI app that has started `forevervm mcp`.
type app struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	ended  chan error
	stderr bytes.Buffer // read it after the end

	mu      sync.Mutex
	next    int
	waiting map[int]chan json.RawMessage
	garbage []string // lines that are no message
}

// start starts it, with more environment variables.
func start(t *testing.T, env ...string) *app {
	t.Helper()
	a := &app{t: t, ended: make(chan error, 1), waiting: map[int]chan json.RawMessage{}}
	a.cmd = exec.Command(connecttest.Program(t, "forevervm"), "mcp")
	a.cmd.Env = append(os.Environ(), env...)
	a.cmd.Stderr = &a.stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		a.read(out)
		a.ended <- a.cmd.Wait()
	}()
	t.Cleanup(func() { a.quit() })
	return a
}

func (a *app) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var message struct {
			JSONRPC string
			ID      *int
			Result  json.RawMessage
			Error   json.RawMessage
		}
		parseErr := json.Unmarshal(line, &message)
		a.mu.Lock()
		if parseErr != nil || message.JSONRPC != "2.0" {
			a.garbage = append(a.garbage, string(line))
		} else if message.ID != nil && a.waiting[*message.ID] != nil {
			if message.Result == nil {
				message.Result = message.Error
			}
			a.waiting[*message.ID] <- message.Result
		}
		a.mu.Unlock()
	}
}

// quit closes the program's input, waits for its end and checks what it left.
func (a *app) quit() {
	a.t.Helper()
	if a.ended == nil {
		return
	}
	_ = a.in.Close() // it may be closed already
	select {
	case err := <-a.ended:
		if err != nil {
			a.t.Errorf("forevervm mcp ended with %v\n%s", err, a.stderr.String())
		}
	case <-time.After(connecttest.Patience):
		_ = a.cmd.Process.Kill()
		a.t.Errorf("forevervm mcp does not end when its input does (%v)\n%s", <-a.ended, a.stderr.String())
	}
	a.ended = nil
	if len(a.garbage) > 0 {
		a.t.Errorf("standard output held %q", a.garbage)
	}
}

// send sends a request and returns where its answer will come.
func (a *app) send(method string, params any) <-chan json.RawMessage {
	a.t.Helper()
	answer := make(chan json.RawMessage, 1)
	a.mu.Lock()
	a.next++
	id := a.next
	a.waiting[id] = answer
	a.mu.Unlock()
	a.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return answer
}

// cancelLast cancels the last request.
func (a *app) cancelLast() {
	a.t.Helper()
	a.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": a.next}})
}

func (a *app) write(message any) {
	a.t.Helper()
	line, err := json.Marshal(message)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		a.t.Fatal(err)
	}
}

func (a *app) initialize() {
	a.t.Helper()
	var said struct{ ServerInfo struct{ Name string } }
	a.wait(a.send("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test app", "version": "7"},
	}), &said)
	if said.ServerInfo.Name != "forevervm" {
		a.t.Fatalf("it is %+v", said)
	}
	a.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (a *app) wait(answer <-chan json.RawMessage, out any) {
	a.t.Helper()
	select {
	case data := <-answer:
		if err := json.Unmarshal(data, out); err != nil {
			a.t.Fatalf("%v\n%s", err, data)
		}
	case <-time.After(connecttest.Patience):
		a.t.Fatal("no answer")
	}
}

// result is a tool's reply.
type result struct {
	Content []struct{ Type, Text, Data string }
	IsError bool
}

func (a *app) call(tool string, arguments any) result {
	a.t.Helper()
	var r result
	a.wait(a.send("tools/call", map[string]any{"name": tool, "arguments": arguments}), &r)
	return r
}

func (a *app) create() string {
	a.t.Helper()
	made := a.call("create-python-repl", map[string]any{})
	if made.IsError || len(made.Content) != 1 {
		a.t.Fatalf("%+v", made)
	}
	return made.Content[0].Text
}

func (a *app) run(repl, code string) result {
	a.t.Helper()
	return a.call("run-python-in-repl", map[string]any{"replId": repl, "pythonCode": code})
}

// text is what the code put out, its value, its error and what is said of it in brackets.
func (r result) text() string {
	if len(r.Content) == 0 || r.Content[0].Type != "text" {
		return fmt.Sprintf("no text: %+v", r)
	}
	return r.Content[0].Text
}
