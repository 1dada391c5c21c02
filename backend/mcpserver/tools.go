package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// hints are what a tool's annotations say.
type hints struct {
	title                                      string
	readOnly, destructive, repeatable, outside bool
	// here says that it does what only machines of this computer can: the hosted service has no call for it.
	here bool
}

// tool adds one tool.
func (s *Server) tool(name string, h hints, description string, handler server.ToolHandlerFunc, opts ...mcp.ToolOption) {
	opts = append([]mcp.ToolOption{
		mcp.WithDescription(description),
		mcp.WithToolTitle(h.title),
		mcp.WithTitleAnnotation(h.title),
		mcp.WithReadOnlyHintAnnotation(h.readOnly),
		mcp.WithDestructiveHintAnnotation(h.destructive),
		mcp.WithIdempotentHintAnnotation(h.repeatable),
		mcp.WithOpenWorldHintAnnotation(h.outside),
	}, opts...)
	tool := mcp.NewTool(name, opts...)
	singleTypes(tool.OutputSchema.Properties, tool.OutputSchema.Required)
	s.here[name] = h.here
	s.mcp.AddTool(tool, checked(tool, handler))
}

// singleTypes gives each property one type. What is made of Go's types allows null wherever Go's
// nil could be, as a list of two types, which some clients do not take. Lists are never null here,
// and what may be absent is left out instead. Anything else that is null at times says so as anyOf.
func singleTypes(properties map[string]any, required []string) {
	for name, value := range properties {
		property, ok := value.(map[string]any)
		if !ok {
			continue
		}
		if types, ok := property["type"].([]any); ok {
			types = slices.DeleteFunc(types, func(t any) bool { return t == "null" })
			property["type"] = types[0]
			if types[0] != "array" && slices.Contains(required, name) {
				delete(property, "type")
				property["anyOf"] = []any{map[string]any{"type": types[0]}, map[string]any{"type": "null"}}
			}
		}
		for _, inner := range []any{property, property["items"]} {
			object, _ := inner.(map[string]any)
			nested, _ := object["properties"].(map[string]any)
			var names []string
			if all, ok := object["required"].([]any); ok {
				for _, one := range all {
					names = append(names, fmt.Sprint(one))
				}
			}
			singleTypes(nested, names)
		}
	}
}

func replID() mcp.ToolOption {
	return mcp.WithString("replId", mcp.Required(), mcp.Description("The REPL's name, from create-python-repl or list-python-repls"))
}

func seqOfReply(what string) mcp.ToolOption {
	return mcp.WithInteger("seq", mcp.Min(0), mcp.Description("The number of "+what+", from an earlier reply; the latest one when left out"))
}

func (s *Server) addTools() {
	s.tool("create-python-repl", hints{title: "New Python REPL"},
		`Makes a new Python REPL in a sandbox and returns its replId. It keeps variables, imports and files for ever. Make one per task; to go on with earlier work use list-python-repls and the replId from there instead of making another. An app may make 30 a minute.`,
		s.create,
		mcp.WithString("title", mcp.MaxLength(200), mcp.Description("What it is for, in a few words, shown to the user: \"Sales analysis 2025\"")),
		mcp.WithInteger("memoryMb", mcp.Min(64), mcp.Max(defaultMemoryMB), mcp.Description("How much memory Python may use, in MiB, when less than the default of 2048 is right")),
		mcp.WithOutputSchema[made]())

	s.tool("run-python-in-repl", hints{title: "Run Python", destructive: true},
		`Runs Python code in a REPL, with the variables and imports of everything that ran there before. Returns what it printed, the value of the last expression, the traceback if it failed, and every matplotlib figure as an image (plotly figures do not come back as images: draw with matplotlib). IPython syntax works (top-level await, %pip, !ls). There is no keyboard input. If the code takes longer than about 45 seconds the reply has status "running": call read-output to wait for the rest. Not for shell scripts or other languages. Of the user's files it sees copies of those in their folder ForeverVM, in /root/inbox, and a folder that they share with the REPL, at /mnt/shared, and no others.`,
		s.runTool,
		mcp.WithString("pythonCode", mcp.Required(), mcp.Description("The code; several lines are fine")),
		replID(),
		mcp.WithNumber("timeoutSeconds", mcp.Min(0.1), mcp.Max(7*24*3600), mcp.Description("Stop the code after so many seconds of running; 1800 when left out")),
		mcp.WithOutputSchema[outcome]())

	s.tool("read-output", hints{title: "Read output", readOnly: true, repeatable: true},
		`Returns the output of an instruction from an offset on, and how it ended. Use it when a reply had status "running" or "queued" (it waits up to about 45 seconds for the end; call it again if it still runs), or when the middle of a long output was left out.`,
		s.readOutput, replID(), seqOfReply("the instruction"),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Description("Where to start, in bytes: nextOffset of the reply before; 0 for the beginning")),
		mcp.WithNumber("waitSeconds", mcp.Min(0), mcp.Description("How long to wait for the end at most; 0 answers at once")),
		mcp.WithOutputSchema[outcome]())

	s.tool("list-python-repls", hints{title: "List REPLs", readOnly: true, repeatable: true},
		`Lists the existing REPLs, the most recently made first, with title and state. Use it to find earlier work before making a new REPL. A REPL with state "swapped" sleeps on disk with everything in it; running code wakes it.`,
		s.list,
		mcp.WithString("search", mcp.Description("Only those with this text in name, title or tags")),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(200), mcp.Description("At most so many; 50 when left out")),
		mcp.WithOutputSchema[repls]())

	s.tool("interrupt-python-repl", hints{title: "Interrupt", destructive: true, repeatable: true},
		`Stops the code that is running in a REPL, as Ctrl-C would. Variables stay. Use it when code runs too long or was a mistake.`,
		s.interrupt, replID())

	s.addCheckpointTools()
	s.addFileTools()
}

func (s *Server) runTool(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	limit := s.opts.InstructionLimit
	if seconds := call.GetFloat("timeoutSeconds", 0); seconds > 0 {
		limit = time.Duration(seconds * float64(time.Second))
	}
	return s.run(ctx, call, call.GetString("replId", ""), call.GetString("pythonCode", ""), limit)
}
