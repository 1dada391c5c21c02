// Package mcpserver offers machines to AI apps over the Model Context Protocol: tools, resources
// and prompts. The same server speaks standard input and output (forevervm mcp), streamable HTTP
// and SSE (the daemon).
//
// What it promises its clients: a call answers before the apps lose patience, and a reply stays
// below the size that they refuse; what did not fit can be asked for. What it promises the person:
// without their answer, nothing here opens a network or makes a machine larger than usual; nothing
// here shares a folder or deletes for good.
package mcpserver

import (
	"bufio"
	"context"
	_ "embed" // the icon
	"encoding/base64"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
)

// Machines is what the tools need of the daemon; *client.Client is it. Errors are told apart by the
// client package's kinds.
type Machines interface {
	CreateMachine(ctx context.Context, n api.NewMachine) (api.Machine, error)
	Machine(ctx context.Context, name string) (api.Machine, error)
	Machines(ctx context.Context, f client.MachineFilter) (api.List[api.Machine], error)
	DeleteMachine(ctx context.Context, name string) error

	Run(ctx context.Context, name string, e api.Execute, queued func(api.Instruction), yield func(api.Item) error) (api.Instruction, error)
	Instruction(ctx context.Context, name string, seq int, wait time.Duration) (api.Instruction, error)
	Instructions(ctx context.Context, name string, q client.InstructionQuery) (api.List[api.Instruction], error)
	Follow(ctx context.Context, name string, seq, from int, yield func(api.Item) error) (api.Instruction, error)
	Items(ctx context.Context, name string, seq, from, limit int) (api.List[api.Item], error)
	Data(ctx context.Context, rep api.Representation, limit int64) ([]byte, error)
	Interrupt(ctx context.Context, name string) (api.Machine, error)
	Stop(ctx context.Context, name string, seq int) error

	Checkpoint(ctx context.Context, name, label string) (api.Checkpoint, error)
	Checkpoints(ctx context.Context, name string) ([]api.Checkpoint, error)
	Rewind(ctx context.Context, name string, to api.Rewind) (api.Machine, error)
	Compare(ctx context.Context, name, from, to string) (api.Comparison, error)
	Fork(ctx context.Context, name string, n api.NewMachine) (api.Machine, error)

	Variables(ctx context.Context, name string) ([]api.Variable, error)
	GetFile(ctx context.Context, name, path string) (io.ReadCloser, int64, error)
	PutFile(ctx context.Context, name, path string, content io.Reader) error
	NewDrop(ctx context.Context, name, path string) (api.Drop, error)
	ListFiles(ctx context.Context, name, path string) (api.FileList, error)
	RemoveFile(ctx context.Context, name, path string) error
	MakeFolder(ctx context.Context, name, path string) error

	Network(ctx context.Context, name string) (api.Network, error)
	Connections(ctx context.Context, name, cursor string, limit int) (api.List[api.Connection], error)
	AnswerConnection(ctx context.Context, name string, id int64, answer string) error
	// AskPermission has the window ask its person; see client.Client.
	AskPermission(ctx context.Context, p api.AskPermission, wait time.Duration) (api.Permission, error)

	Status(ctx context.Context) (api.Status, error)
	// Raw asks as a page does; see client.Client.
	Raw(ctx context.Context, method, address string, body []byte) (mime string, answer io.ReadCloser, err error)
	// Hello tells that the calling program is there, and has called so many more tools.
	Hello(ctx context.Context, calls int) error
}

// listsHold is how long clients may keep the lists of tools, prompts and templates.
const listsHold = 5 * time.Minute

//go:embed icon.svg
var icon []byte

// Options are what may be said of a server; zero fields mean the default.
type Options struct {
	Version string
	// AnswerWithin is how long a call waits for its instruction: 45 seconds, as apps give up after
	// a minute.
	AnswerWithin time.Duration
	// InstructionLimit is an instruction's own limit when the call does not say: 30 minutes.
	InstructionLimit time.Duration
	// TaskAfter is how long a call waits for its instruction before it returns a task, where the
	// client takes one: 10 seconds.
	TaskAfter time.Duration
	// ReplyLimit is the most bytes of one reply: 900,000, as apps refuse a megabyte.
	ReplyLimit int
	// Page has the built page, with chat.html for AI apps to show; nil for none.
	Page   fs.FS
	Logger *slog.Logger
}

// Server serves the Model Context Protocol.
type Server struct {
	machines   func(clientName, clientVersion string) Machines
	opts       Options
	mcp        *server.MCPServer
	streamable *server.StreamableHTTPServer
	sse        *server.SSEServer
	pictured   pictured
	making     making
	here       map[string]bool // by the name of a tool; written by New only
	listed     []string        // the tools that clients are told of, in this order; written by New only
	linking    linking
	chatPage   string // "" for none; written by New only

	// closing ends with Close: calls over HTTP may outlive their connection, not the server.
	closing context.Context
	close   context.CancelFunc
	heard   heard
	early   early
}

// New returns a server. machines gives each call what it works on, told which program calls; it is
// asked only when something is needed, so that a client is answered before the daemon is there.
func New(machines func(clientName, clientVersion string) Machines, opts Options) *Server {
	if opts.AnswerWithin == 0 {
		opts.AnswerWithin = 45 * time.Second
	}
	if opts.TaskAfter == 0 {
		opts.TaskAfter = 10 * time.Second
	}
	if opts.InstructionLimit == 0 {
		opts.InstructionLimit = 30 * time.Minute
	}
	if opts.ReplyLimit == 0 {
		opts.ReplyLimit = 900_000
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{machines: machines, opts: opts, here: map[string]bool{}}
	s.closing, s.close = context.WithCancel(context.Background())
	hooks := &server.Hooks{}
	hooks.AddAfterListResources(s.listTranscripts)
	s.linking.heed(hooks)
	s.heard = heard{tell: s.tell, all: map[program]*untold{}}
	s.early.calls = map[string]bool{}
	hooks.AddBeforeCallTool(func(ctx context.Context, id any, _ *mcp.CallToolRequest) {
		if s.early.begins(id) {
			s.cancel(ctx, id)
		}
	})
	hooks.AddAfterInitialize(func(_ context.Context, _ any, request *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		s.heard.of(programOf(request.Params.ClientInfo), 0)
	})
	// Since 2026-07-28 the protocol has no initialize: clients discover the server, or list its
	// tools at once, and say each time who they are.
	helloAgain := func(ctx context.Context) {
		if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.ClientInfo != nil {
			s.heard.of(programOf(*request.ClientInfo), 0)
		}
	}
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, _ *mcp.DiscoverResult) { helloAgain(ctx) })
	hooks.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, list *mcp.ListToolsResult) {
		helloAgain(ctx)
		s.sortOut(ctx, list)
	})
	s.mcp = server.NewMCPServer("forevervm", opts.Version,
		server.WithTitle("ForeverVM"),
		server.WithIcons(mcp.Icon{Src: "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(icon), MIMEType: "image/svg+xml", Sizes: []string{"any"}}),
		server.WithCacheHints(listsHold.Milliseconds(), mcp.CacheScopePrivate),
		server.WithMethodCacheHints(mcp.MethodResourcesRead, 0, mcp.CacheScopePrivate), // machines go on
		server.WithMethodCacheHints(mcp.MethodResourcesList, 0, mcp.CacheScopePrivate),
		server.WithInstructions(described("instructions")),
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithExtensions(map[string]any{tasksExtension: map[string]any{}, appsExtension: map[string]any{}}),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{s}),
		server.WithResourceCompletionProvider(completer{s}),
		server.WithRecovery(),
		server.WithResourceRecovery(),
		server.WithHooks(hooks),
		server.WithToolHandlerMiddleware(s.untilClosed),
		server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			return func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				contents, err := next(ctx, r)
				return unlessCancelled(ctx, contents, err)
			}
		}),
		server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc {
			return func(ctx context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				prompt, err := next(ctx, r)
				return unlessCancelled(ctx, prompt, err)
			}
		}),
	)
	s.readChatPage()
	s.addTools()
	s.addTasks()
	s.addChatPage()
	s.addResources()
	s.addPrompts()
	s.streamable = server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdleTTL(24*time.Hour),
		server.WithStreamableHTTPLogger(opts.Logger),
		server.WithDisableLocalhostProtection(true), // the daemon has checked the Host
		server.WithHTTPContextFunc(untilDisconnect),
	)
	s.sse = server.NewSSEServer(s.mcp,
		server.WithSSEEndpoint("/sse"),
		server.WithMessageEndpoint("/message"),
		server.WithUseFullURLForMessageEndpoint(false),
		server.WithKeepAlive(true),
		// The library lets every origin read the stream, unless it is told of one; whom to allow is
		// the daemon's matter.
		server.WithSSECORS(server.WithCORSAllowedOrigins("https://nobody.invalid")),
		server.WithSSEDisableLocalhostProtection(true),
	)
	return s
}

// ServeStdio serves one client on in and out until in ends or ctx does. Whatever the client's calls
// were waiting for is then interrupted.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	stdio := server.NewStdioServer(s.mcp)
	stdio.SetErrorLogger(log.New(slogWriter{s.opts.Logger}, "", 0))
	server.WithWorkerPoolSize(100)(stdio) // as many calls at once: each may wait for its instruction
	return stdio.Listen(ctx, &notedReader{lines: bufio.NewReader(in), early: &s.early}, unansweredWriter{tasksWriter{out}})
}

// slogWriter hands the library's log lines to slog.
type slogWriter struct{ to *slog.Logger }

func (w slogWriter) Write(line []byte) (int, error) {
	w.to.Warn(string(line), "from", "mcp")
	return len(line), nil
}

// Handler serves /mcp (streamable HTTP), and /sse with /message (SSE). Authentication is the
// caller's.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", withoutCancelling(s.streamable))
	mux.Handle("/sse", s.sse.SSEHandler())
	mux.Handle("/message", s.sse.MessageHandler())
	return unanswered(withTasks(mux))
}

// lastHello is how long a hello may still take at the end: some programs only look whether the
// server answers, and leave.
const lastHello = time.Second

// Close ends what still waits, without interrupting it: the machines go on, or are saved by the
// daemon.
func (s *Server) Close() {
	defer time.AfterFunc(lastHello, s.close).Stop()
	s.heard.end()
	s.close()
	s.sse.CloseSessions()
	if err := s.streamable.Shutdown(context.Background()); err != nil {
		s.opts.Logger.Warn("MCP sessions did not close", "err", err)
	}
}

// lastAnswer is how long after AnswerWithin a call may take to put its answer together.
const lastAnswer = 4 * time.Second

// untilClosed counts the calls, and lets none outlive the server, nor its client's patience.
func (s *Server) untilClosed(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if isTaskMethod(call.Params.Name) {
			s.heard.of(caller(ctx), 0)
		} else {
			s.heard.of(caller(ctx), 1)
		}
		if ctx.Err() != nil {
			return nil, errCancelled
		}
		calling, cancel := context.WithTimeout(ctx, s.opts.AnswerWithin+lastAnswer)
		defer cancel()
		defer context.AfterFunc(s.closing, cancel)()
		result, err := next(calling, call)
		return unlessCancelled(ctx, result, err)
	}
}

// of returns the machines as the calling program may see them.
func (s *Server) of(ctx context.Context) Machines {
	by := caller(ctx)
	return s.machines(by.name, by.version)
}

// program is one that calls, as people know it.
type program struct{ name, version string }

func programOf(info mcp.Implementation) program { return program{knownAs(info), info.Version} }

// caller is the program that calls.
func caller(ctx context.Context) program {
	var info mcp.Implementation
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = session.GetClientInfo()
	}
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.ClientInfo != nil {
		info = *request.ClientInfo
	}
	return programOf(info)
}

// knownAs is the name by which people know a program.
func knownAs(info mcp.Implementation) string {
	switch {
	case info.Title != "":
		return info.Title
	case info.Name == "claude-ai":
		return "Claude Desktop"
	case info.Name == "":
		return "MCP client"
	}
	return info.Name
}
