//go:build !windows && real

package mcpserver_test

import (
	"encoding/json"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// taskAnswer is a task, or what a tool returned at once.
type taskAnswer struct {
	ResultType, TaskID, Status, StatusMessage string
	PollIntervalMs                            int64
	Result                                    result
}

// asTasks sends a request of a client that takes tasks.
func (a *app) asTasks(method string, params map[string]any) taskAnswer {
	a.t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": stateless, "io.modelcontextprotocol/clientInfo": map[string]any{"name": "tasks", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}},
	}
	var said json.RawMessage
	a.wait(a.send(method, params), &said)
	var answer taskAnswer
	if err := json.Unmarshal(said, &answer); err != nil {
		a.t.Fatalf("%v: %s", err, said)
	}
	return answer
}

// A task outlives its client, and a daemon that stops in its middle.
func TestATaskOutlivesItsClientAndTheDaemon(t *testing.T) {
	a := start(t)
	a.initialize()
	repl := a.create()
	// It waits for a file, so that no clock decides whether it is still running.
	code := "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)\n'the end'"
	given := a.asTasks("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{"replId": repl, "pythonCode": code}})
	if given.ResultType != "task" || given.Status != "working" || given.TaskID == "" || given.StatusMessage != "begun" {
		t.Fatalf("%+v", given)
	}
	a.quit()

	endDaemon(t, syscall.SIGTERM)
	b := start(t)
	get := func() taskAnswer { return b.asTasks("tasks/get", map[string]any{"taskId": given.TaskID}) }
	if now := get(); now.ResultType != "complete" || now.Status != "working" || now.TaskID != given.TaskID {
		t.Fatalf("after the daemon stopped: %+v", now)
	}
	if wrote := b.call("put-file", map[string]any{"replId": repl, "path": "go", "content": ""}); wrote.IsError {
		t.Fatalf("%+v", wrote)
	}
	var ended taskAnswer
	connecttest.Eventually(t, "the task ends", func() bool {
		ended = get()
		return ended.Status != "working"
	})
	if ended.Status != "completed" || ended.Result.text() != "begun\n'the end'" {
		t.Errorf("%+v", ended)
	}
}
