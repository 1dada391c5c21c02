package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mark3labs/mcp-go/mcp"
)

// Raw notes what was asked for.
func (s *scripted) Raw(_ context.Context, method, address string, body []byte) (string, io.ReadCloser, error) {
	s.asked = append(s.asked, fmt.Sprintf("%s %s %s", method, address, body))
	return "application/json", io.NopCloser(strings.NewReader(s.said)), nil
}

var page = fstest.MapFS{
	chatPageFile:                 {Data: []byte("<!doctype html>")},
	"assets/plotly-strict.min-1": {Data: []byte("no script")},
}

// shows are the parameters of a client that shows pages.
const shows = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{}}}}`

// askPage calls the page's tool and returns what it says.
func askPage(t *testing.T, s *Server, arguments string) (answer pageAnswer, content string) {
	t.Helper()
	var result struct{ StructuredContent pageAnswer }
	ask(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+pageTool+`","arguments":`+arguments+`,`+shows+`}}`, &result)
	decoded, err := base64.StdEncoding.DecodeString(result.StructuredContent.Content)
	if err != nil {
		t.Fatal(err)
	}
	return result.StructuredContent, string(decoded)
}

// Only clients that show pages are told of the page's tools. What models see of the list stays
// small for them.
func TestOnlyAppsThatShowPagesAreToldOfTheTool(t *testing.T) {
	s := (&scripted{}).server(t, Options{Page: page})
	for params, told := range map[string]bool{`{` + shows + `}`: true, `{}`: false} {
		var list mcp.ListToolsResult
		ask(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`, &list)
		all := len(list.Tools)
		list.Tools = slices.DeleteFunc(list.Tools, func(tool mcp.Tool) bool { return tool.Name == pageTool || tool.Name == dropTool })
		if hidden := all - len(list.Tools); hidden != map[bool]int{true: 2}[told] {
			t.Errorf("with %s %d are told", params, hidden)
		}
		encoded, err := json.Marshal(list.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if len(encoded) > 10_000 {
			t.Errorf("the list has %d bytes", len(encoded))
		}
	}
}

// The page gets what a person sees of an instruction, and nothing else.
func TestWhatThePageMayAskFor(t *testing.T) {
	machines := &scripted{said: `{"a":1}`}
	s := machines.server(t, Options{Page: page})
	for _, address := range []string{
		"/api/machines/a", "/api/machines/a/instructions?order=newest&limit=5", "/api/machines/a/instructions/3",
		"/api/machines/a/instructions/3/items?from=0", "/api/machines/a/instructions/3/data/2/0", "/api/machines/a/variables",
		"/api/machines/a/files/content?path=b",
	} {
		machines.asked = nil
		answer, content := askPage(t, s, `{"method":"GET","address":"`+address+`"}`)
		if answer.Status != 200 || content != `{"a":1}` || !slices.Equal(machines.asked, []string{"GET " + address + " "}) {
			t.Errorf("%s: %+v %s %q", address, answer, content, machines.asked)
		}
	}
	machines.asked = nil
	if answer, _ := askPage(t, s, `{"method":"POST","address":"/api/machines/a/table","body":"{\"variable\":\"df\"}"}`); answer.Status != 200 || !slices.Equal(machines.asked, []string{`POST /api/machines/a/table {"variable":"df"}`}) {
		t.Errorf("%+v %q", answer, machines.asked)
	}
	machines.asked = nil
	for _, request := range []string{
		`"GET","address":"/api/machines"`, `"GET","address":"/api/settings"`, `"GET","address":"/api/machines/a/files?path=b"`,
		`"GET","address":"/api/machines/a/../../settings"`, `"GET","address":"/api/machines/%2e%2e/%2e%2e/settings"`, `"GET","address":"//evil/api/machines/a"`,
		`"GET","address":"api/machines/a"`, `"GET","address":""`, `"GET","address":":"`,
		`"POST","address":"/api/machines/a/run","body":"{}"`, `"POST","address":"/api/machines/a/interrupt"`, `"POST","address":"/api/machines/a/table","body":"no JSON"`,
	} {
		if answer, content := askPage(t, s, `{"method":`+request+`}`); answer.Status < 400 || len(machines.asked) > 0 {
			t.Errorf("%s: %+v %s %q", request, answer, content, machines.asked)
		}
	}
}

// A page gives a file to a place, by a tool of its own, and does nothing else with it.
func TestWhatThePageMayGive(t *testing.T) {
	machines := &scripted{said: `{"state":"done"}`}
	s := machines.server(t, Options{Page: page})
	give := func(address string) pageAnswer {
		var result struct{ StructuredContent pageAnswer }
		ask(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+dropTool+`","arguments":{"method":"POST","address":"`+address+`","body":"{}"},`+shows+`}}`, &result)
		return result.StructuredContent
	}
	if answer := give("/api/drops/abc/pieces"); answer.Status != 200 || !slices.Equal(machines.asked, []string{"POST /api/drops/abc/pieces {}"}) {
		t.Errorf("%+v %q", answer, machines.asked)
	}
	machines.asked = nil
	for _, address := range []string{"/api/machines/a/run", "/api/machines/a/table", "/api/drops/abc", "/api/drops/../machines"} {
		if answer := give(address); answer.Status < 400 || len(machines.asked) > 0 {
			t.Errorf("%s: %+v %q", address, answer, machines.asked)
		}
	}
	if answer, _ := askPage(t, s, `{"method":"POST","address":"/api/drops/abc/pieces","body":"{}"}`); answer.Status != 403 || len(machines.asked) > 0 {
		t.Errorf("by the other tool: %+v", answer)
	}
}

// A long answer comes in pieces.
func TestThePageGetsPieces(t *testing.T) {
	machines := &scripted{said: strings.Repeat("0123456789", chatPiece/5)}
	s := machines.server(t, Options{Page: page})
	var got string
	for pieces := 1; ; pieces++ {
		answer, content := askPage(t, s, fmt.Sprintf(`{"method":"GET","address":"/api/machines/a","offset":%d}`, len(got)))
		if got += content; len(got) >= answer.Size {
			if pieces != 2 || got != machines.said {
				t.Errorf("%d pieces with %d bytes", pieces, len(got))
			}
			return
		}
	}
}

// A part would look like the whole.
func TestThePageGetsAllOrNothing(t *testing.T) {
	machines := &scripted{said: strings.Repeat("0", maxResource+1)}
	s := machines.server(t, Options{Page: page})
	answer, content := askPage(t, s, `{"method":"GET","address":"/api/machines/a/files/content?path=b"}`)
	if answer.Status != 413 || !strings.Contains(content, "16 MiB") {
		t.Errorf("%+v with %d bytes", answer, len(content))
	}
}

// Without the page, as in the extension where ForeverVM is not installed, no tool names it.
func TestWithoutThePageNoToolNamesIt(t *testing.T) {
	s := (&scripted{}).server(t, Options{})
	var list json.RawMessage
	ask(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+shows+`}}`, &list)
	if strings.Contains(string(list), chatPageURI) || strings.Contains(string(list), "forevervm-") {
		t.Errorf("%s", list)
	}
}
