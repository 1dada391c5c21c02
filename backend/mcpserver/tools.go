package mcpserver

import (
	"cmp"
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
	// unlisted tools are answered, and no client is told of them: names that were replaced.
	unlisted bool
	// page tools are for ForeverVM's page in an app, and only apps that show it are told of them.
	page bool
}

// descriptions are what models are told of each listed tool, and of the whole.
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

// tool adds one tool. One that clients are told of is described in descriptions/NAME.md.
func (s *Server) tool(name string, h hints, handler server.ToolHandlerFunc, opts ...mcp.ToolOption) {
	if !h.unlisted && !h.page {
		opts = append(opts, mcp.WithDescription(described(name)))
	}
	opts = append([]mcp.ToolOption{
		mcp.WithTitleAnnotation(h.title),
		mcp.WithReadOnlyHintAnnotation(h.readOnly),
		mcp.WithDestructiveHintAnnotation(h.destructive),
		mcp.WithIdempotentHintAnnotation(h.repeatable),
		mcp.WithOpenWorldHintAnnotation(h.outside),
	}, opts...)
	tool := mcp.NewTool(name, opts...)
	singleTypes(tool.OutputSchema.Properties, tool.OutputSchema.Required)
	s.here[name] = h.here
	if !h.unlisted {
		s.listed = append(s.listed, name)
	}
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

// longResult has Claude Code show the whole reply to the model. Otherwise it stores a reply of more
// than 25,000 tokens in a file. The limits of a reply's parts keep it below this many characters.
func longResult(t *mcp.Tool) {
	t.Meta = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/maxResultSizeChars": outputLimit + 2*valueLimit + 8<<10}}
}

func replID() mcp.ToolOption { return mcp.WithString("replId", mcp.Required()) }

// addTools adds the tools, those first that models need most: clients are told of them in this
// order. The list is part of every conversation, so it is short.
func (s *Server) addTools() {
	s.tool("run-python-in-repl", hints{title: "Run Python", destructive: true, outside: true},
		s.runTool, longResult, s.withChatPage,
		mcp.WithString("pythonCode", mcp.Required()), replID(),
		mcp.WithString("summary", mcp.Description("What this step does, in a few plain words, shown to the user: \"Charts sales by month\"")),
		mcp.WithNumber("timeoutSeconds", mcp.Min(0.1), mcp.Max(7*24*3600), mcp.Description("Stop the code after so long; default 1800")))

	s.tool("create-python-repl", hints{title: "New Python REPL"},
		s.create,
		mcp.WithString("title", mcp.MaxLength(200), mcp.Description("What for, shown to the user: \"Sales 2025\"")),
		mcp.WithInteger("memoryMb", mcp.Min(64), mcp.Max(mostMemoryMB), mcp.Description("Default 2048; the user must allow more")))

	s.tool("read-output", hints{title: "Read output", readOnly: true, repeatable: true},
		s.readOutput, longResult, s.withChatPage, replID(),
		mcp.WithInteger("step", mcp.Min(1), mcp.Description("From 1; default the latest")),
		mcp.WithInteger("offset", mcp.Min(0), mcp.Description("First byte; default 0")),
		mcp.WithNumber("waitSeconds", mcp.Min(0), mcp.Description("0 answers at once; default 45")))

	s.tool("list-python-repls", hints{title: "List REPLs", readOnly: true, repeatable: true},
		s.list,
		mcp.WithString("search", mcp.Description("In name, title or tags")),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(200), mcp.Description("Default 50")),
		mcp.WithOutputSchema[repls]())

	s.tool("interrupt-python-repl", hints{title: "Interrupt", destructive: true, repeatable: true},
		s.interrupt, replID())

	s.addPackageTool()
	s.addCheckpointTools()
	s.addFileTools()
	s.addReplacedTools()
}

// lookWithin is how long a list of tools waits for the daemon, which may have to be started.
const lookWithin = 2 * time.Second

// sortOut puts a list of tools in order. It drops those that clients are not told of, and those
// that no machine can do. A client that calls one of them is answered, or refused with a sentence.
// If the daemon does not say in time what machines there are, no tool is dropped for them.
func (s *Server) sortOut(ctx context.Context, list *mcp.ListToolsResult) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	onlyHosted, shows := s.onlyHosted(ctx), showsApps(ctx)
	list.Tools = slices.DeleteFunc(list.Tools, func(t mcp.Tool) bool {
		return !slices.Contains(s.listed, t.Name) || onlyHosted && s.here[t.Name] || (t.Name == pageTool || t.Name == dropTool) && !shows
	})
	slices.SortFunc(list.Tools, func(a, b mcp.Tool) int {
		return cmp.Compare(slices.Index(s.listed, a.Name), slices.Index(s.listed, b.Name))
	})
}

func (s *Server) runTool(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	limit := s.opts.InstructionLimit
	if seconds := call.GetFloat("timeoutSeconds", 0); seconds > 0 {
		limit = time.Duration(seconds * float64(time.Second))
	}
	return s.run(ctx, call, call.GetString("replId", ""), call.GetString("pythonCode", ""), limit)
}
