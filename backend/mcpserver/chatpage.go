package mcpserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/forevervm/desktop/backend/client"
)

// The chat page is what AI apps show under a call, for the person: plots, tables and the rest of an
// instruction (MCP Apps, the extension io.modelcontextprotocol/ui). It is one file, and asks for
// all that it shows by one tool that models are not told of.
//
// Source: github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx

const (
	appsExtension = "io.modelcontextprotocol/ui"
	chatPageURI   = "ui://forevervm/result"
	chatPageMIME  = "text/html;profile=mcp-app"
	chatPageFile  = "chat.html"
	plotlyFiles   = "assets/plotly-strict*.js"
	// plotlyAddress is where the chat page asks for Plotly, which is too large to be part of it.
	plotlyAddress = "/plotly.js.gz"
	// chatPiece is how many bytes one answer to the page has at most.
	chatPiece = 512 << 10
)

// withChatPage has apps show the chat page under a tool's calls. Older apps know the flat key only.
func (s *Server) withChatPage(t *mcp.Tool) {
	if s.chatPage == "" {
		return
	}
	if t.Meta == nil {
		t.Meta = &mcp.Meta{AdditionalFields: map[string]any{}}
	}
	t.Meta.AdditionalFields["ui"] = map[string]any{"resourceUri": chatPageURI}
	t.Meta.AdditionalFields["ui/resourceUri"] = chatPageURI
}

// showsApps says whether the client shows pages. Only such a client is told of the page's tool.
func showsApps(ctx context.Context) bool {
	var capabilities mcp.ClientCapabilities
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		capabilities = session.GetClientCapabilities()
	}
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.ClientCapabilities != nil {
		capabilities = *request.ClientCapabilities
	}
	_, shows := capabilities.Extensions[appsExtension]
	return shows
}

// resultKey is the key of a result's _meta that says to the page which instruction it is of.
const resultKey = "forevervm/instruction"

// The names of the tools by which the chat page asks, and gives a file.
const (
	pageTool = "forevervm-page"
	dropTool = "forevervm-drop"
)

// readChatPage reads the page; a program may be built without one.
func (s *Server) readChatPage() {
	if s.opts.Page == nil {
		return
	}
	page, err := fs.ReadFile(s.opts.Page, chatPageFile)
	if err != nil {
		s.opts.Logger.Warn("there is no page for AI apps to show", "err", err)
		return
	}
	s.chatPage = string(page)
}

// addChatPage adds the page and its tool, if there is the page.
func (s *Server) addChatPage() {
	if s.chatPage == "" {
		return
	}
	s.mcp.AddResource(mcp.NewResource(chatPageURI, "Result of an instruction", mcp.WithMIMEType(chatPageMIME),
		mcp.WithResourceDescription("The page that an app shows to the person under a call.")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: chatPageURI, MIMEType: chatPageMIME, Text: s.chatPage}}, nil
		})
	plotly := sync.OnceValues(func() ([]byte, error) { return compressed(s.opts.Page, plotlyFiles) })
	s.tool(pageTool, hints{title: "For ForeverVM's page", readOnly: true, repeatable: true, page: true},
		func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if call.GetString("address", "") != plotlyAddress {
				return s.answerPage(ctx, call, asked), nil
			}
			content, err := plotly()
			return pieceOf(call, "application/gzip", content, err), nil
		},
		onlyForPages,
		mcp.WithString("method", mcp.Required(), mcp.Enum(http.MethodGet, http.MethodPost)),
		mcp.WithString("address", mcp.Required()),
		mcp.WithString("body"),
		mcp.WithInteger("offset", mcp.Min(0)))
	s.tool(dropTool, hints{title: "Give a file on ForeverVM's page", page: true},
		func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.answerPage(ctx, call, given), nil
		},
		onlyForPages,
		mcp.WithString("method", mcp.Required(), mcp.Enum(http.MethodPost)),
		mcp.WithString("address", mcp.Required()),
		mcp.WithString("body", mcp.Required()))
}

func onlyForPages(t *mcp.Tool) {
	t.Meta = &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{"visibility": []string{"app"}}}}
}

// asked are the addresses that the page may ask for: of one machine, what a person sees of an
// instruction, and the file of a table that the person saves, which lies in the machine's /tmp.
var asked = allowed(
	"GET /api/machines/{name}",
	"GET /api/machines/{name}/instructions",
	"GET /api/machines/{name}/instructions/{seq}",
	"GET /api/machines/{name}/instructions/{seq}/items",
	"GET /api/machines/{name}/instructions/{seq}/data/{place}/{n}",
	"GET /api/machines/{name}/variables",
	"POST /api/machines/{name}/table",
	"POST /api/machines/{name}/table/save",
	"GET /api/machines/{name}/files/content",
	"GET /api/drops/{code}",
)

// given is the address to which the page may give a file: the place that a model has asked for.
var given = allowed("POST /api/drops/{code}/pieces")

func allowed(patterns ...string) *http.ServeMux {
	mux := http.NewServeMux()
	for _, pattern := range patterns {
		mux.HandleFunc(pattern, http.NotFound)
	}
	return mux
}

// pageAnswer is a piece of an answer to the page: bytes from its offset on, of Size in all.
type pageAnswer struct {
	Status  int    `json:"status"`
	MIME    string `json:"mime"`
	Size    int    `json:"size"`
	Content string `json:"content"` // base64
}

// answerPage answers a request of the page with a piece of what the daemon says.
func (s *Server) answerPage(ctx context.Context, call mcp.CallToolRequest, may *http.ServeMux) *mcp.CallToolResult {
	mime, content, err := s.ask(ctx, may, call.GetString("method", ""), call.GetString("address", ""), call.GetString("body", ""))
	return pieceOf(call, mime, content, err)
}

// pieceOf answers with the piece of content that a call of the page wants.
func pieceOf(call mcp.CallToolRequest, mime string, content []byte, err error) *mcp.CallToolResult {
	answer := pageAnswer{Status: http.StatusOK, MIME: mime}
	if err != nil {
		answer.Status, answer.MIME, content = refused(err)
	}
	answer.Size = len(content)
	offset := min(call.GetInt("offset", 0), len(content))
	answer.Content = base64.StdEncoding.EncodeToString(content[offset:min(offset+chatPiece, len(content))])
	return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: answer}
}

// ask hands a request on to the daemon, if the page may make it.
func (s *Server) ask(ctx context.Context, may *http.ServeMux, method, address, body string) (mime string, content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil || !strings.HasPrefix(address, "/api/") {
		return "", nil, &client.Error{Status: http.StatusBadRequest, Message: "That is not an address of the API."}
	}
	if _, pattern := may.Handler(request); pattern == "" {
		return "", nil, &client.Error{Status: http.StatusForbidden, Message: "The page may not ask for " + address + "."}
	}
	var sent []byte
	if body != "" {
		if sent = []byte(body); !json.Valid(sent) {
			return "", nil, &client.Error{Status: http.StatusBadRequest, Message: "The body is not JSON."}
		}
	}
	mime, answer, err := s.of(ctx).Raw(ctx, method, address, sent)
	if err != nil {
		return "", nil, err
	}
	defer answer.Close()
	if content, err = io.ReadAll(io.LimitReader(answer, maxResource+1)); err != nil {
		return "", nil, err
	}
	if len(content) > maxResource { // never a part, which looks like all of it
		return "", nil, &client.Error{
			Status: http.StatusRequestEntityTooLarge, Code: "TooLarge",
			Message: "This is larger than 16 MiB, the most that a page in a chat takes. Open it in ForeverVM's window.",
		}
	}
	return mime, content, nil
}

// refused is an error as the daemon says it to a page.
func refused(err error) (status int, mime string, content []byte) {
	status, code := http.StatusServiceUnavailable, "Unavailable"
	var said *client.Error
	if errors.As(err, &said) {
		status, code = said.Status, said.Code
	}
	content, _ = json.Marshal(map[string]string{"code": code, "message": err.Error()}) // of strings
	return status, "application/json", content
}

// compressed returns the one file of a pattern with gzip.
func compressed(files fs.FS, pattern string) ([]byte, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	if len(names) != 1 {
		return nil, errors.New("this program was built without Plotly")
	}
	content, err := fs.ReadFile(files, names[0])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
