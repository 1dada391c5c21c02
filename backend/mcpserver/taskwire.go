package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/client"
)

// This file can go once the library has the extension for tasks; it has only those of 2025-11-25,
// which the extension replaced (github.com/mark3labs/mcp-go/issues/980). Until then a request of
// the extension becomes the call of an unlisted tool of the same name. The tool's result carries,
// under insteadKey, what is sent in its place.

// addTasks adds the tools that stand for the extension's methods.
func (s *Server) addTasks() {
	for method, answer := range map[string]func(context.Context, Machines, taskID, mcp.CallToolRequest) (any, error){
		"tasks/get": func(ctx context.Context, m Machines, id taskID, _ mcp.CallToolRequest) (any, error) {
			return s.getTask(ctx, m, id)
		},
		"tasks/cancel": func(ctx context.Context, m Machines, id taskID, _ mcp.CallToolRequest) (any, error) {
			return acknowledged, m.Stop(ctx, id.machine, id.seq)
		},
		"tasks/update": func(ctx context.Context, m Machines, id taskID, call mcp.CallToolRequest) (any, error) {
			if _, err := m.Instruction(ctx, id.machine, id.seq, 0); err != nil {
				return nil, err
			}
			return acknowledged, answerQuestions(ctx, m, id.machine, call.Params.InputResponses)
		},
	} {
		s.mcp.AddTool(mcp.NewTool(method), func(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if !declaresTasks(call) {
				return insteadError(mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability: "+tasksExtension+".",
					map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}), nil
			}
			text := call.GetString("taskId", "")
			id, ok := parseTaskID(text)
			if !ok {
				return insteadError(mcp.INVALID_PARAMS, fmt.Sprintf("There is no task %q.", text), nil), nil
			}
			result, err := answer(ctx, s.of(ctx), id, call)
			switch {
			case errors.Is(err, client.ErrNotFound):
				return insteadError(mcp.INVALID_PARAMS, fmt.Sprintf("There is no task %q: its REPL was deleted, or returned to an earlier state.", text), nil), nil
			case err != nil:
				return insteadError(mcp.INTERNAL_ERROR, err.Error(), nil), nil
			}
			return instead(result), nil
		})
	}
}

var acknowledged = map[string]any{"resultType": "complete"}

// insteadKey is the key of a tool result's _meta under which stands what is sent in place of the
// result. Nothing that code prints gets there.
const insteadKey = "forevervm/instead"

// inPlace is what is sent in place of a tool's result: one of the two.
type inPlace struct {
	Result json.RawMessage          `json:"result,omitempty"`
	Error  *mcp.JSONRPCErrorDetails `json:"error,omitempty"`
}

func instead(result any) *mcp.CallToolResult {
	encoded, err := json.Marshal(result)
	if err != nil {
		return insteadError(mcp.INTERNAL_ERROR, err.Error(), nil)
	}
	return carrying(inPlace{Result: encoded})
}

func insteadError(code int, message string, data any) *mcp.CallToolResult {
	details := mcp.NewJSONRPCErrorDetails(code, message, data)
	return carrying(inPlace{Error: &details})
}

func carrying(r inPlace) *mcp.CallToolResult {
	result := &mcp.CallToolResult{}
	result.Meta = &mcp.Meta{AdditionalFields: map[string]any{insteadKey: r}}
	return result
}

// asCall is a message as the library takes it: a request of the extension as the call of its tool.
func asCall(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"tasks/`)) {
		return message
	}
	var request struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  struct {
			Meta           json.RawMessage `json:"_meta,omitempty"`
			TaskID         any             `json:"taskId"`
			InputResponses json.RawMessage `json:"inputResponses,omitempty"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &request) != nil || !isTaskMethod(request.Method) || request.ID == nil {
		return message
	}
	params := map[string]any{"name": request.Method, "arguments": map[string]any{"taskId": request.Params.TaskID}}
	if request.Params.Meta != nil {
		params["_meta"] = request.Params.Meta
	}
	if request.Params.InputResponses != nil {
		params["inputResponses"] = request.Params.InputResponses
	}
	call, err := json.Marshal(map[string]any{"jsonrpc": request.JSONRPC, "id": request.ID, "method": mcp.MethodToolsCall, "params": params})
	if err != nil {
		return message
	}
	return append(call, '\n')
}

func isTaskMethod(name string) bool {
	return name == "tasks/get" || name == "tasks/update" || name == "tasks/cancel"
}

// asSent is a message, or the event with it, as the client gets it. code is that of an error that
// took the place of a result, else 0.
func asSent(written []byte) (sent []byte, code int) {
	if !bytes.Contains(written, []byte(insteadKey)) {
		return written, 0
	}
	const event = "event: message\ndata: "
	message, isEvent := bytes.CutPrefix(written, []byte(event))
	var answer struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"result"`
	}
	var r inPlace
	if json.Unmarshal(message, &answer) != nil || json.Unmarshal(answer.Result.Meta[insteadKey], &r) != nil {
		return written, 0
	}
	out := map[string]any{"jsonrpc": answer.JSONRPC, "id": answer.ID}
	if r.Error != nil {
		out["error"], code = r.Error, r.Error.Code
	} else {
		delete(answer.Result.Meta, insteadKey)
		var result map[string]json.RawMessage
		if json.Unmarshal(r.Result, &result) != nil {
			return written, 0
		}
		if len(answer.Result.Meta) > 0 {
			result["_meta"], _ = json.Marshal(answer.Result.Meta) // raw JSON
		}
		out["result"] = result
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return written, 0
	}
	if isEvent {
		return append(append([]byte(event), encoded...), "\n\n"...), code
	}
	return append(encoded, '\n'), code
}

// tasksWriter is standard output with tasks. Each message is written at once.
type tasksWriter struct{ io.Writer }

func (w tasksWriter) Write(message []byte) (int, error) {
	sent, _ := asSent(message)
	if _, err := w.Writer.Write(sent); err != nil {
		return 0, err
	}
	return len(message), nil
}

// withTasks serves HTTP with tasks.
func withTasks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client has gone
			}
			call := asCall(body)
			if len(call) != len(body) || !bytes.Equal(call, body) {
				r = r.Clone(r.Context())
				r.ContentLength = int64(len(call))
				if isTaskMethod(r.Header.Get(mcp.HeaderMethod)) { // else the library says what is wrong
					r.Header.Set(mcp.HeaderName, r.Header.Get(mcp.HeaderMethod))
					r.Header.Set(mcp.HeaderMethod, string(mcp.MethodToolsCall))
				}
			}
			r.Body = io.NopCloser(bytes.NewReader(call))
		}
		next.ServeHTTP(&tasksResponse{w, mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))}, r)
	})
}

type tasksResponse struct {
	http.ResponseWriter
	stateless bool // the protocol of 2026-07-28, which wants a status that says so for an error
}

func (w *tasksResponse) Write(data []byte) (int, error) {
	sent, code := asSent(data)
	if w.stateless && (code == mcp.INVALID_PARAMS || code == mcp.MISSING_REQUIRED_CLIENT_CAPABILITY) {
		w.WriteHeader(http.StatusBadRequest)
	}
	if _, err := w.ResponseWriter.Write(sent); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Flush sends what is there.
func (w *tasksResponse) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (w *tasksResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }
