package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// What memory a machine gets when nobody says otherwise, and how much a model may ask for. More
// than the default takes the person's permission.
const (
	defaultMemoryMB = 2048
	mostMemoryMB    = 64 << 10
)

// repl is what a model is told of a machine.
type repl struct {
	ReplID       string            `json:"replId"`
	Title        string            `json:"title,omitempty"`
	State        string            `json:"state" jsonschema_description:"idle: ready; running: code runs in it; swapped: asleep, wakes when used"`
	Instructions int               `json:"instructions" jsonschema_description:"How many ran or wait"`
	CreatedAt    time.Time         `json:"createdAt"`
	LastActiveAt time.Time         `json:"lastActiveAt"`
	Tags         map[string]string `json:"tags,omitempty"`
	ForkOf       string            `json:"forkOf,omitempty"`
	Hosted       bool              `json:"hosted,omitempty" jsonschema_description:"It runs at the hosted service: no checkpoints, forks, files or deleting"`
	Shared       string            `json:"shared,omitempty" jsonschema_description:"What code may do with a user's folder at /mnt/shared"`
	Notice       string            `json:"notice,omitempty"`
}

type repls struct {
	Repls []repl `json:"repls"`
	More  bool   `json:"more" jsonschema_description:"There are more; use search"`
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

// stateWords are the window's words for states: a model tells its user of them.
var stateWords = map[string]string{"idle": "ready", "swapped": "asleep", "waking": "waking up", "swapping": "falling asleep"}

// line is a machine as models read it.
func (r repl) line() string {
	line := r.ReplID
	if r.Title != "" {
		line += fmt.Sprintf(" %q", r.Title)
	}
	line += fmt.Sprintf(": %s, %d steps, last used %s", cmp.Or(stateWords[r.State], r.State), r.Instructions, r.LastActiveAt.UTC().Format(minute))
	if r.ForkOf != "" {
		line += ", fork of " + r.ForkOf
	}
	if r.Hosted {
		line += ", hosted"
	}
	if r.Shared != "" {
		line += ", /mnt/shared: " + r.Shared
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		line += fmt.Sprintf(", %s=%s", tag, r.Tags[tag])
	}
	if r.Notice != "" {
		line += ". " + r.Notice
	}
	return onOneLine(line)
}

// onOneLine is a line of a list. What it names may be a program's choice, and must not look like
// more lines.
func onOneLine(line string) string {
	if !strings.ContainsFunc(line, unicode.IsControl) {
		return line
	}
	quoted := strconv.Quote(line)
	return quoted[1 : len(quoted)-1]
}

// minute is how models are told times, which are in UTC.
const minute = "2006-01-02 15:04Z"

func (s *Server) create(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	m, wanted := s.of(ctx), api.NewMachine{Title: call.GetString("title", ""), MemoryMB: call.GetInt("memoryMb", 0)}
	if wanted.MemoryMB > defaultMemoryMB {
		if not := s.moreMemory(ctx, call, m, wanted.MemoryMB); not != nil {
			return not, nil
		}
	}
	if why := s.making.refuse(caller(ctx).name, time.Now()); why != "" {
		return mcp.NewToolResultError(why), nil
	}
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

// bareName answers with a new REPL's name and nothing else, as the official MCP server does.
func bareName(m api.Machine) *mcp.CallToolResult { return mcp.NewToolResultText(m.Name) }

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
	lines := []string{}
	for _, r := range out.Repls {
		lines = append(lines, r.line())
	}
	if len(lines) == 0 {
		lines = append(lines, "[No REPLs. Make one with create-python-repl.]")
	}
	if out.More {
		lines = append(lines, "[There are more: narrow it down with search.]")
	}
	return mcp.NewToolResultStructured(out, strings.Join(lines, "\n")), nil
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
		mcp.WithString("label", mcp.MaxLength(200), mcp.Description("What the state is: \"data cleaned\"")))

	s.tool("rewind-python-repl", hints{title: "Rewind to a checkpoint", destructive: true, repeatable: true, here: true},
		s.rewind, replID(),
		mcp.WithString("checkpointId", mcp.Required(), mcp.Description("Checkpoint, or name of a branch")),
		mcp.WithString("keepAs", mcp.MaxLength(60), mcp.Description("Name for the branch of the present state")))

	s.tool("compare-checkpoints", hints{title: "Compare checkpoints", readOnly: true, repeatable: true, here: true},
		s.compare, s.withChatPage, replID(),
		mcp.WithString("checkpointId", mcp.Required(), mcp.Description("First state: checkpoint, or name of a branch")),
		mcp.WithString("withCheckpointId", mcp.Description("Second; default the present")),
		mcp.WithOutputSchema[comparison]())

	s.tool("manage-python-repl", hints{title: "Manage a REPL", destructive: true, here: true},
		s.manage, replID(),
		mcp.WithString("action", mcp.Required(), mcp.Enum("fork", "list-checkpoints", "share-folder", "delete")),
		mcp.WithString("checkpointId", mcp.Description("fork: the state to copy; default the present")),
		mcp.WithString("title", mcp.MaxLength(200), mcp.Description("fork: as of a new REPL")))
}

// manage does what is seldom needed, so that the list of tools stays short.
func (s *Server) manage(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch call.GetString("action", "") {
	case "fork":
		return s.fork(ctx, call)
	case "delete":
		return s.delete(ctx, call)
	case "share-folder":
		return s.shareFolder(ctx, call)
	}
	return s.checkpoints(ctx, call)
}

func (s *Server) checkpoint(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	made, err := s.of(ctx).Checkpoint(ctx, name, call.GetString("label", ""))
	if err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("Made the checkpoint %s. To return to it, call rewind-python-repl with this checkpointId.", made.ID)), nil
}

// checkpointLine is a checkpoint as models read it.
func checkpointLine(c api.Checkpoint) string {
	line := fmt.Sprintf("%s: %s, %s", c.ID, c.CreatedAt.UTC().Format(minute), c.Kind)
	if c.LastSeq >= 0 {
		line += fmt.Sprintf(", after step %d", c.LastSeq+1)
	}
	if c.Label != "" {
		line += fmt.Sprintf(", %q", c.Label)
	}
	if c.Branch != "" {
		line += fmt.Sprintf(", end of the branch %q", c.Branch)
	}
	return line
}

func (s *Server) checkpoints(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	all, err := s.of(ctx).Checkpoints(ctx, name)
	if err != nil {
		return failure(err, name), nil
	}
	lines := []string{}
	for _, c := range all {
		lines = append(lines, checkpointLine(c))
	}
	if fit := fitting(s, lines); len(fit) < len(lines) {
		lines = append(fit, "[There are older ones, which do not fit here.]")
	}
	if len(lines) == 0 {
		lines = append(lines, "[No checkpoints.]")
	}
	return mcp.NewToolResultText(strings.Join(lines, "\n")), nil
}

func (s *Server) rewind(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, to := call.GetString("replId", ""), call.GetString("checkpointId", "")
	ms := s.of(ctx)
	if not := s.farBack(ctx, call, ms, name, to); not != nil {
		return not, nil
	}
	m, err := ms.Rewind(ctx, name, api.Rewind{Checkpoint: to, KeepAs: call.GetString("keepAs", "")})
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

// shareFolder says where the person shares a folder. It is never decided in a chat: a client could
// answer in their place.
func (s *Server) shareFolder(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	m, err := s.of(ctx).Machine(ctx, name)
	if err != nil {
		return failure(err, name), nil
	}
	state := ""
	if m.Shared != nil {
		state = " A folder is shared with it now, at /mnt/shared."
	}
	return mcp.NewToolResultText(fmt.Sprintf("Only the user can share a folder. Ask them to open %s, and to choose “Share a folder…” in its menu.%s", machineURI(m.Name), state)), nil
}

func (s *Server) delete(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := call.GetString("replId", "")
	if err := s.of(ctx).DeleteMachine(ctx, name); err != nil {
		return failure(err, name), nil
	}
	return mcp.NewToolResultText(fmt.Sprintf("%s is in the bin. The user can restore it from there.", name)), nil
}
