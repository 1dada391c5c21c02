package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// defaultMemoryMB is what a machine gets when nobody says otherwise. Over MCP it can only be made
// less.
const defaultMemoryMB = 2048

// repl is what a model is told of a machine.
type repl struct {
	ReplID       string            `json:"replId"`
	Title        string            `json:"title,omitempty"`
	State        string            `json:"state" jsonschema_description:"idle: ready; running: code runs in it; swapped: asleep on disk, wakes by itself"`
	Instructions int               `json:"instructions" jsonschema_description:"How many pieces of code have run or wait in it"`
	CreatedAt    time.Time         `json:"createdAt"`
	LastActiveAt time.Time         `json:"lastActiveAt"`
	Tags         map[string]string `json:"tags,omitempty"`
	ForkOf       string            `json:"forkOf,omitempty"`
	Hosted       bool              `json:"hosted,omitempty" jsonschema_description:"It runs at the hosted service, where there are no checkpoints, forks, files from outside and deleting"`
	Shared       string            `json:"shared,omitempty" jsonschema_description:"Whether code may read or also change the folder of the user's computer that is at /mnt/shared; absent where the user shares none"`
	Notice       string            `json:"notice,omitempty"`
}

type repls struct {
	Repls []repl `json:"repls"`
	More  bool   `json:"more" jsonschema_description:"There are more than these; search to narrow it down"`
}

func describeMachine(m api.Machine) repl {
	r := repl{ReplID: m.Name, Title: m.Title, State: m.State, Instructions: m.NextSeq, CreatedAt: m.CreatedAt, LastActiveAt: m.LastActiveAt, Tags: m.Tags, Hosted: m.Engine == hosted, Notice: m.Notice}
	if m.Shared != nil { // whose path is nobody's business here
		r.Shared = "read"
		if m.Shared.Writable {
			r.Shared = "read and change"
		}
	}
	if m.Parent != nil {
		r.ForkOf = m.Parent.Name
	}
	return r
}

// structured answers with a value, as text and as structured content.
func structured(v any) *mcp.CallToolResult {
	text, err := json.Marshal(v)
	if err != nil {
		return mcp.NewToolResultErrorFromErr("the reply could not be encoded", err)
	}
	return mcp.NewToolResultStructured(v, string(text))
}

func (s *Server) create(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if why := s.making.refuse(caller(ctx).name, time.Now()); why != "" {
		return mcp.NewToolResultError(why), nil
	}
	m, wanted := s.of(ctx), api.NewMachine{Title: call.GetString("title", ""), MemoryMB: call.GetInt("memoryMb", 0)}
	made, err := m.CreateMachine(ctx, wanted)
	if errors.Is(err, client.ErrUnsupported) && wanted.Title != "" { // a title is for a list that such a server does not have
		wanted.Title = ""
		made, err = m.CreateMachine(ctx, wanted)
	}
	if err != nil {
		return failure(err, ""), nil
	}
	return bareName(made), nil
}

// made names a new REPL. The text of such a reply is the bare name, as the official MCP server has
// it.
type made struct {
	ReplID string `json:"replId" jsonschema_description:"The new REPL's name"`
}

func bareName(m api.Machine) *mcp.CallToolResult {
	return mcp.NewToolResultStructured(made{ReplID: m.Name}, m.Name)
}

func (s *Server) list(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	page, err := s.of(ctx).Machines(ctx, client.MachineFilter{Text: call.GetString("search", ""), Limit: call.GetInt("limit", 50)})
	if err != nil {
		return failure(err, ""), nil
	}
	out := repls{Repls: []repl{}, More: page.Next != ""}
	for _, m := range page.Items {
		out.Repls = append(out.Repls, describeMachine(m))
	}
	if fit := fitting(s, out.Repls); len(fit) < len(out.Repls) {
		out.Repls, out.More = fit, true
	}
	return structured(out), nil
}

func (s *Server) interrupt(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	m := s.of(ctx)
	before, err := m.Machine(ctx, name)
	if err != nil {
		return failure(err, name), nil
	}
	if before.RunningSeq == nil && before.State != "running" {
		return mcp.NewToolResultText(fmt.Sprintf("Nothing is running in %s.", name)), nil
	}
	if _, err := m.Interrupt(ctx, name); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("The code running in %s was told to stop. Its variables are still there.", name)), nil
}

func (s *Server) addCheckpointTools() {
	s.tool("checkpoint-python-repl", hints{title: "Make a checkpoint", here: true},
		s.checkpoint, replID(),
		mcp.WithString("label", mcp.MaxLength(200), mcp.Description("What the state is, in a few words: \"data cleaned\"")),
		mcp.WithOutputSchema[checkpoint]())

	s.tool("list-checkpoints", hints{title: "List checkpoints", readOnly: true, repeatable: true, here: true},
		s.checkpoints, replID(), mcp.WithOutputSchema[checkpoints]())

	s.tool("rewind-python-repl", hints{title: "Rewind to a checkpoint", destructive: true, repeatable: true, here: true},
		s.rewind, replID(),
		mcp.WithString("checkpointId", mcp.Required(), mcp.Description("From checkpoint-python-repl or list-checkpoints, or the name of a branch")),
		mcp.WithString("keepAs", mcp.MaxLength(60), mcp.Description("What to call the branch that the present state stays as, unique in the REPL: \"with outliers\"; it is named after the time when left out")))

	s.tool("compare-checkpoints", hints{title: "Compare checkpoints", readOnly: true, repeatable: true, here: true},
		s.compare, replID(),
		mcp.WithString("checkpointId", mcp.Required(), mcp.Description("The state to compare from: from checkpoint-python-repl or list-checkpoints, or the name of a branch")),
		mcp.WithString("withCheckpointId", mcp.Description("The state to compare it with, given the same way; the present one when left out")),
		mcp.WithOutputSchema[comparison]())

	s.tool("fork-python-repl", hints{title: "Fork a REPL", here: true},
		s.fork, replID(),
		mcp.WithString("checkpointId", mcp.Description("The state to start from; the present one when left out")),
		mcp.WithString("title", mcp.MaxLength(200), mcp.Description("What the new one is for, in a few words")),
		mcp.WithOutputSchema[made]())

	s.tool("delete-python-repl", hints{title: "Move a REPL to the bin", destructive: true, repeatable: true, here: true},
		s.delete, replID())
}

// checkpoint is what a model is told of a checkpoint.
type checkpoint struct {
	CheckpointID string    `json:"checkpointId"`
	Label        string    `json:"label,omitempty"`
	Kind         string    `json:"kind" jsonschema_description:"manual: kept until deleted; auto: made after a piece of work, kept for a while"`
	CreatedAt    time.Time `json:"createdAt"`
	LastSeq      int       `json:"lastSeq" jsonschema_description:"The last instruction whose effect is in it; -1 for none"`
	Branch       string    `json:"branch,omitempty" jsonschema_description:"The name of the branch that ends here: what a rewind left. It can be given as checkpointId."`
}

type checkpoints struct {
	Checkpoints []checkpoint `json:"checkpoints"`
	More        bool         `json:"more" jsonschema_description:"There are older ones, which do not fit here"`
}

func describeCheckpoint(c api.Checkpoint) checkpoint {
	return checkpoint{CheckpointID: c.ID, Label: c.Label, Kind: c.Kind, CreatedAt: c.CreatedAt, LastSeq: c.LastSeq, Branch: c.Branch}
}

func (s *Server) checkpoint(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	made, err := s.of(ctx).Checkpoint(ctx, name, call.GetString("label", ""))
	if err != nil {
		return failure(err, name), nil
	}
	return structured(describeCheckpoint(made)), nil
}

func (s *Server) checkpoints(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	all, err := s.of(ctx).Checkpoints(ctx, name)
	if err != nil {
		return failure(err, name), nil
	}
	out := checkpoints{Checkpoints: []checkpoint{}}
	for _, c := range all {
		out.Checkpoints = append(out.Checkpoints, describeCheckpoint(c))
	}
	if fit := fitting(s, out.Checkpoints); len(fit) < len(out.Checkpoints) {
		out.Checkpoints, out.More = fit, true
	}
	return structured(out), nil
}

func (s *Server) rewind(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, to := call.GetString("replId", ""), call.GetString("checkpointId", "")
	m, err := s.of(ctx).Rewind(ctx, name, api.Rewind{Checkpoint: to, KeepAs: call.GetString("keepAs", "")})
	if err != nil {
		return failure(err, name), nil
	}
	reply := fmt.Sprintf("%s is as it was at %q.", name, to)
	if m.Undo != "" {
		reply += fmt.Sprintf(" What it was before is kept%s: to go back to that, call this tool with checkpointId %q.", s.branchOf(ctx, name, m.Undo), m.Undo)
	}
	return mcp.NewToolResultText(reply), nil
}

// branchOf names the branch that ends in a checkpoint, for the middle of a sentence; empty where
// none does.
func (s *Server) branchOf(ctx context.Context, name, checkpoint string) string {
	all, err := s.of(ctx).Checkpoints(ctx, name)
	if err != nil {
		return ""
	}
	for _, c := range all {
		if c.ID == checkpoint && c.Branch != "" {
			return fmt.Sprintf(" as the branch %q", c.Branch)
		}
	}
	return ""
}

func (s *Server) fork(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	if why := s.making.refuse(caller(ctx).name, time.Now()); why != "" {
		return mcp.NewToolResultError(why), nil
	}
	made, err := s.of(ctx).Fork(ctx, name, api.NewMachine{Checkpoint: call.GetString("checkpointId", ""), Title: call.GetString("title", "")})
	if err != nil {
		return failure(err, name), nil
	}
	return bareName(made), nil
}

func (s *Server) delete(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	if err := s.of(ctx).DeleteMachine(ctx, name); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%s is in the bin. The user can restore it from there.", name)), nil
}
