package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/forevervm/desktop/backend/api"
)

func (s *scripted) Status(context.Context) (api.Status, error) { return api.Status{Total: 1}, nil }

func (s *scripted) Hello(context.Context, int) error { return nil }

// The list of tools and the instructions are part of every conversation, and Claude Code cuts each
// text at 2 KB.
func TestTheToolListIsSmall(t *testing.T) {
	s := (&scripted{}).server(t, Options{})
	var list mcp.ListToolsResult
	ask(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &list)
	encoded, err := json.Marshal(list.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(encoded) > 10_000 {
		t.Errorf("the list of %d tools has %d bytes", len(list.Tools), len(encoded))
	}
	texts := map[string]string{"instructions": described("instructions")}
	for _, tool := range list.Tools {
		texts[tool.Name] = tool.Description
	}
	for name, text := range texts {
		if len(text) == 0 || len(text) >= 2048 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// What code named in a machine cannot look like more lines of a list.
func TestNamesStayOnTheirLine(t *testing.T) {
	forged := "a\nvariable b: removed\x1b[2J"
	c := comparison{Files: []change{{Name: forged, Change: "added", After: "3 bytes"}}, LookTheSame: []string{forged}}
	r := repl{ReplID: "m", State: "idle", Tags: map[string]string{"by": forged}}
	for what, text := range map[string]string{"comparison": c.text(), "machine": r.line()} {
		if strings.Contains(text, "\nvariable b") || strings.Contains(text, "\x1b") {
			t.Errorf("the %s is %q", what, text)
		}
	}
}

// The icon is the window's.
func TestTheIcon(t *testing.T) {
	windows, err := os.ReadFile(filepath.Join("..", "..", "frontend", "public", "icon.svg"))
	if err != nil || !bytes.Equal(icon, windows) {
		t.Errorf("icon.svg differs from frontend/public/icon.svg (%v)", err)
	}
}

// ask has the server answer a message that came over no transport.
func ask(t *testing.T, s *Server, message string, result any) {
	t.Helper()
	encoded, err := json.Marshal(s.mcp.HandleMessage(t.Context(), json.RawMessage(message)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &struct{ Result any }{result}); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, encoded))
	}
}
