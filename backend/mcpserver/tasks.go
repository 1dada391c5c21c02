package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// Tasks are the protocol's extension for work that outlasts a call: the call returns a task, and
// the client asks for its result later. An instruction is durable, so its task needs no state here:
// the task's ID says which instruction it is, and which tool's reply is its result.
//
// taskwire.go has what the library lacks to speak of them.
//
// Source: modelcontextprotocol.github.io/ext-tasks/specification/2026-07-28/tasks.html

const tasksExtension = "io.modelcontextprotocol/tasks"

// Statuses of a task that are ours: a tool's error is a result.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// A client asks how a task is doing after a tenth of the task's age, within these bounds.
const (
	soonestPoll = 2 * time.Second
	latestPoll  = time.Minute
)

const (
	lastItems     = 50  // items of output in which the last line is looked for
	statusMessage = 200 // bytes
)

// declaresTasks says whether the client takes a task as this call's answer. It says so with each
// request.
func declaresTasks(call mcp.CallToolRequest) bool {
	capabilities := call.Params.Meta.ClientCapabilities()
	if capabilities == nil {
		return false
	}
	_, declared := capabilities.Extensions[tasksExtension]
	return declared
}

// taskID says which instruction a task is. Its text form goes through headers, so it is ASCII.
type taskID struct {
	tool    string // whose reply is the result: runTask or readTask
	machine string
	seq     int
	offset  int64 // of "read": where its piece of the output begins, in bytes
}

const (
	runTask  = "run"
	readTask = "read"
)

func (id taskID) String() string {
	return fmt.Sprintf("%s/%s/%d/%d", id.tool, url.PathEscape(id.machine), id.seq, id.offset)
}

func parseTaskID(text string) (id taskID, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[0] != runTask && parts[0] != readTask {
		return id, false
	}
	machine, err1 := url.PathUnescape(parts[1])
	seq, err2 := strconv.ParseUint(parts[2], 10, 31)
	offset, err3 := strconv.ParseUint(parts[3], 10, 62)
	if machine == "" || machine == "." || machine == ".." || errors.Join(err1, err2, err3) != nil {
		return id, false
	}
	return taskID{parts[0], machine, int(seq), int64(offset)}, true
}

// task is a task as it is sent. An instruction is kept as long as its machine, so TTLMs is null.
type task struct {
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTLMs          *int64              `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs"`
	InputRequests  mcp.InputRequests   `json:"inputRequests,omitempty"`
	Result         *mcp.CallToolResult `json:"result,omitempty"`
}

func (id taskID) working(in api.Instruction) task {
	updated := in.QueuedAt
	if in.StartedAt != nil {
		updated = *in.StartedAt
	}
	return task{
		ResultType: "complete", TaskID: id.String(), Status: taskWorking, CreatedAt: in.QueuedAt, LastUpdatedAt: updated,
		PollIntervalMs: min(max(time.Since(in.QueuedAt)/10, soonestPoll), latestPoll).Milliseconds(),
	}
}

// outlasts says whether an instruction goes on although its call ended with err: the time is up,
// the daemon restarts, or the connection to it broke. The client has not cancelled the call.
func (s *Server) outlasts(ctx context.Context, err error) bool {
	if s.closing.Err() != nil {
		return true
	}
	return ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrDropped))
}

// complete ends the task with what the tool would have answered.
func (t *task) complete(with *mcp.CallToolResult) {
	with.ResultType = mcp.ResultTypeComplete
	t.Status, t.Result = taskCompleted, with
}

// handOver answers a call with a task, as the instruction takes longer than the call.
func (s *Server) handOver(ctx context.Context, m Machines, id taskID, in api.Instruction) *mcp.CallToolResult {
	if now, err := m.Instruction(ctx, in.Machine, in.Seq, 0); err == nil { // it was queued when the call began
		in = now
	}
	t := id.working(in)
	t.ResultType = "task"
	t.StatusMessage, _ = s.doing(ctx, m, in)
	return instead(t)
}

// ask has the client ask its person what the code waits for.
func (t *task) ask(ctx context.Context, m Machines, repl string) {
	if !asks(ctx) {
		return
	}
	all, err := questions(ctx, m, repl)
	if err != nil || len(all) == 0 {
		return // the next answer may have them
	}
	t.Status, t.InputRequests = taskAsks, mcp.InputRequests{}
	for key, question := range all {
		t.InputRequests[key] = mcp.NewElicitationInputRequest(question)
	}
}

// getTask answers tasks/get.
func (s *Server) getTask(ctx context.Context, m Machines, id taskID) (*task, error) {
	in, err := m.Instruction(ctx, id.machine, id.seq, 0)
	if err != nil {
		return nil, err
	}
	t := id.working(in)
	if !client.Done(in) {
		var at time.Time
		t.StatusMessage, at = s.doing(ctx, m, in)
		if at.After(t.LastUpdatedAt) {
			t.LastUpdatedAt = at
		}
		if in.Status == "running" {
			t.ask(ctx, m, in.Machine)
		}
		return &t, nil
	}
	if in.EndedAt != nil {
		t.LastUpdatedAt = *in.EndedAt
	}
	switch {
	case in.Status == "cancelled":
		t.Status, t.StatusMessage = taskCancelled, "The code was cancelled before it ran."
	case id.tool == readTask:
		t.complete(s.piece(ctx, m, id.machine, in, id.offset))
	default:
		got, err := collectAll(ctx, m, in, outputLimit)
		if err != nil {
			return nil, err
		}
		t.complete(s.reply(ctx, m, id.machine, in, got))
	}
	return &t, nil
}

// doing says what a person wants to know of an instruction that is not done: why it waits, or the
// last line of its output, which may be a progress bar. It also returns when that was.
func (s *Server) doing(ctx context.Context, m Machines, in api.Instruction) (message string, at time.Time) {
	if why := s.waits(ctx, m, in.Machine); why != "" {
		return why, at
	}
	if in.Status == "queued" {
		return "The code waits for what runs before it in this REPL.", at
	}
	page, err := m.Items(ctx, in.Machine, in.Seq, max(in.Items-lastItems, 0), lastItems)
	if err != nil {
		return "", at // the next answer may have it
	}
	var text strings.Builder
	for _, item := range page.Items {
		text.WriteString(textOf(item))
		at = item.At
	}
	lines := strings.Split(strings.TrimRight(readable(text.String()), " \t\n"), "\n")
	message = onOneLine(strings.TrimSpace(lines[len(lines)-1]))
	if len(message) > statusMessage {
		message = string(wholeRunes([]byte(message[:statusMessage]))) + "…"
	}
	return cmp.Or(message, "The code is running and has printed nothing yet."), at
}
