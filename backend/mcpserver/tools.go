package mcpserver

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// hints are what a tool's annotations say.
type hints struct {
	title                                      string
	readOnly, destructive, repeatable, outside bool
	// here says that it does what only machines of this computer can: the hosted service has no
	// call for it.
	here bool
}

// descriptions are what models are told of each tool, and of the whole.
//
//go:embed descriptions
var descriptions embed.FS

// described is a description, whose paragraphs are one line each.
func described(name string) string {
	text, err := descriptions.ReadFile("descriptions/" + name + ".md")
	if err != nil {
		panic(err) // a tool without one: each test finds it
	}
	paragraphs := strings.Split(string(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n")
}

// tool adds one tool, described in descriptions/NAME.md.
func (s *Server) tool(name string, h hints, handler server.ToolHandlerFunc, opts ...mcp.ToolOption) {
	opts = append([]mcp.ToolOption{
		mcp.WithDescription(described(name)),
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
		s.create,
		mcp.WithString("title", mcp.MaxLength(200), mcp.Description("What it is for, in a few words, shown to the user: \"Sales analysis 2025\"")),
		mcp.WithInteger("memoryMb", mcp.Min(64), mcp.Max(defaultMemoryMB), mcp.Description("How much memory Python may use, in MiB, when less than the default of 2048 is right")),
		mcp.WithOutputSchema[made]())

	s.tool("run-python-in-repl", hints{title: "Run Python", destructive: true},
		s.runTool,
		mcp.WithString("pythonCode", mcp.Required(), mcp.Description("The code; several lines are fine")),
		replID(),
		mcp.WithNumber("timeoutSeconds", mcp.Min(0.1), mcp.Max(7*24*3600), mcp.Description("Stop the code after so many seconds of running; 1800 when left out")),
		mcp.WithOutputSchema[outcome]())

	s.tool("read-output", hints{title: "Read output", readOnly: true, repeatable: true},
		s.readOutput, replID(), seqOfReply("the instruction"),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Description("Where to start, in bytes: nextOffset of the reply before; 0 for the beginning")),
		mcp.WithNumber("waitSeconds", mcp.Min(0), mcp.Description("How long to wait for the end at most; 0 answers at once")),
		mcp.WithOutputSchema[outcome]())

	s.tool("list-python-repls", hints{title: "List REPLs", readOnly: true, repeatable: true},
		s.list,
		mcp.WithString("search", mcp.Description("Only those with this text in name, title or tags")),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(200), mcp.Description("At most so many; 50 when left out")),
		mcp.WithOutputSchema[repls]())

	s.tool("interrupt-python-repl", hints{title: "Interrupt", destructive: true, repeatable: true},
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
