package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// A request that its client has cancelled gets no answer: MCP forbids it. The library answers each,
// so what a handler says of a cancelled one is an error of these words, and answers with them are
// not sent.
const cancelledWords = "forevervm: the client has cancelled this request"

var errCancelled = errors.New(cancelledWords)

// unlessCancelled is what a handler answers, where its client still waits for it.
func unlessCancelled[T any](ctx context.Context, answer T, err error) (T, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return *new(T), errCancelled
	}
	return answer, err
}

// unsent reports whether a message or an event answers a cancelled request.
func unsent(written []byte) bool {
	if !bytes.Contains(written, []byte(cancelledWords)) {
		return false
	}
	if event, isEvent := bytes.CutPrefix(written, []byte("event: message\ndata: ")); isEvent {
		written = event
	}
	var answer struct{ Error struct{ Message string } }
	return json.Unmarshal(written, &answer) == nil && answer.Error.Message == cancelledWords
}

// unansweredWriter is standard output without the answers to cancelled requests. Each message is
// written at once.
type unansweredWriter struct{ io.Writer }

func (w unansweredWriter) Write(message []byte) (int, error) {
	if unsent(message) {
		return len(message), nil
	}
	return w.Writer.Write(message)
}

// unanswered serves HTTP without the answers to cancelled requests.
func unanswered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &unansweredResponse{ResponseWriter: w}
		next.ServeHTTP(out, r)
		out.begin()
	})
}

// unansweredResponse holds its status back until it is known whether what follows is sent.
type unansweredResponse struct {
	http.ResponseWriter
	status int // 0 where there is none, or it was sent
}

// WriteHeader notes the status.
func (w *unansweredResponse) WriteHeader(status int) { w.status = status }

// begin sends the status.
func (w *unansweredResponse) begin() {
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
		w.status = 0
	}
}

func (w *unansweredResponse) Write(data []byte) (int, error) {
	if !unsent(data) {
		w.begin()
		return w.ResponseWriter.Write(data)
	}
	if w.status != 0 { // it would have been all of the answer: a stream of no events stands for none
		w.Header().Set("Content-Type", "text/event-stream")
	}
	return len(data), nil
}

// Flush sends what is there.
func (w *unansweredResponse) Flush() {
	w.begin()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *unansweredResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// untilDisconnect is the context of a call over HTTP. Since 2026-07-28 a client cancels a request
// by closing the connection on which it waits. Before that, only notifications/cancelled is a
// cancellation.
func untilDisconnect(ctx context.Context, r *http.Request) context.Context {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// withoutCancelling takes no notifications/cancelled of the protocol without sessions: it is not
// meant for HTTP there. The library would end the request of that number of any client.
func withoutCancelling(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client has gone
			}
			var message struct{ Method mcp.MCPMethod }
			if json.Unmarshal(body, &message) == nil && message.Method == mcp.MethodNotificationCancelled {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
}

// early are the calls that came over standard input and that no handler has yet, by number; true
// where they are cancelled by now. The library takes calls up one after the other, and loses a
// cancellation that overtakes its call.
type early struct {
	mu    sync.Mutex
	calls map[string]bool
}

// note looks at a line of standard input.
func (e *early) note(line []byte) {
	var message struct {
		Method mcp.MCPMethod
		ID     any
		Params struct{ RequestID any }
	}
	if json.Unmarshal(line, &message) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch message.Method {
	case mcp.MethodToolsCall:
		e.calls[fmt.Sprint(message.ID)] = false
	case mcp.MethodNotificationCancelled:
		if id := fmt.Sprint(message.Params.RequestID); e.has(id) {
			e.calls[id] = true
		}
	}
}

func (e *early) has(id string) bool {
	_, ok := e.calls[id]
	return ok
}

// begins says whether a call was cancelled before it was taken up, which is now.
func (e *early) begins(id any) (cancelled bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	cancelled = e.calls[fmt.Sprint(id)]
	delete(e.calls, fmt.Sprint(id))
	return cancelled
}

// cancel has the library cancel a call that it has just taken up.
func (s *Server) cancel(ctx context.Context, id any) {
	message, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION, "method": mcp.MethodNotificationCancelled, "params": map[string]any{"requestId": id},
	})
	if err == nil {
		s.mcp.HandleMessage(ctx, message)
	}
}

// notedReader is standard input whose lines are noted before the library has them.
type notedReader struct {
	lines *bufio.Reader
	early *early
	rest  []byte
}

func (r *notedReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		line, err := r.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		r.rest = asCall(line)
		r.early.note(r.rest)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
