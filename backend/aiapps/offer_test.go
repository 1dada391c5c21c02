package aiapps_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/opener"
)

// An app that can ask the person itself is given a link with the same entry that would go into its
// file, or the extension.
func TestOffers(t *testing.T) {
	d := newDesk(t, "linux")
	var opened string
	c := computer("linux", d.home)
	c.Open = func(_ context.Context, what string) error {
		opened = what
		return nil
	}
	extension := filepath.Join(t.TempDir(), "forevervm.mcpb")
	d.Manager = aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: d.folder, Extension: extension})
	if _, err := d.Offer(t.Context(), "cursor"); !errors.Is(err, aiapps.ErrNotInstalled) {
		t.Error(err)
	}
	for _, app := range aiapps.Apps {
		d.path(app.ID)
	}
	if _, err := d.Offer(t.Context(), "claude"); !errors.Is(err, aiapps.ErrNoOffer) || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
	if err := os.WriteFile(extension, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	entry := func(text string) map[string]any {
		t.Helper()
		var entry map[string]any
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return entry
	}
	inBase64 := func(link *url.URL) map[string]any {
		text, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
		if err != nil || link.Query().Get("name") != "forevervm" {
			t.Errorf("%s: %v", link, err)
		}
		return entry(string(text))
	}
	asQuery := func(link *url.URL) map[string]any {
		text, err := url.PathUnescape(link.RawQuery)
		if err != nil || strings.Contains(link.RawQuery, "+") {
			t.Errorf("%s: %v", link, err)
		}
		return entry(text)
	}
	plain := map[string]any{"command": server.Program, "args": []any{"mcp"}}
	typed := map[string]any{"name": "forevervm", "type": "stdio", "command": server.Program, "args": []any{"mcp"}}
	for id, want := range map[string]struct {
		start string
		read  func(*url.URL) map[string]any
		entry map[string]any
	}{
		"cursor":          {"cursor://anysphere.cursor-deeplink/mcp/install?", inBase64, plain},
		"lm-studio":       {"lmstudio://add_mcp?", inBase64, plain},
		"vscode":          {"vscode:mcp/install?", asQuery, typed},
		"vscode-insiders": {"vscode-insiders:mcp/install?", asQuery, typed},
	} {
		said, err := d.Offer(t.Context(), id)
		if err != nil || said != opened || !strings.HasPrefix(opened, want.start) {
			t.Errorf("%s: opened %q, %q, %v", id, opened, said, err)
			continue
		}
		link, err := url.Parse(opened)
		if err != nil {
			t.Fatal(err)
		}
		if got := want.read(link); !reflect.DeepEqual(got, want.entry) {
			t.Errorf("%s is told to start %v, want %v", id, got, want.entry)
		}
	}
	if said, err := d.Offer(t.Context(), "claude"); err != nil || said != extension || opened != extension {
		t.Errorf("%s, %v", said, err)
	}
	if _, err := d.Offer(t.Context(), "zed"); !errors.Is(err, aiapps.ErrNoOffer) || !strings.Contains(err.Error(), "forevervm connect zed") {
		t.Error(err)
	}
	c.Open = func(context.Context, string) error { return opener.ErrNoDisplay }
	d.Manager = aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: d.folder, Extension: extension})
	if _, err := d.Offer(t.Context(), "claude"); !errors.Is(err, aiapps.ErrNoOffer) || !strings.Contains(err.Error(), extension) {
		t.Error(err)
	}
}

// An app that has the extension needs no entry, and would have every tool twice with one.
func TestTheExtensionIsSeen(t *testing.T) {
	d := newDesk(t, "linux")
	path := d.file("claude", []byte("{}"))
	add := func(folder, name string) {
		t.Helper()
		folder = filepath.Join(filepath.Dir(path), "Claude Extensions", folder)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(`{"name": "`+name+`"}`), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	add("local.mcpb.other.time", "time")
	d.want("claude", aiapps.NotConnected)
	add("local.mcpb.forevervm.forevervm", "forevervm")
	d.want("claude", aiapps.Extension)
	refused := func(change func(string, aiapps.Options) (aiapps.Report, error)) {
		t.Helper()
		if _, err := change("claude", aiapps.Options{}); !errors.Is(err, aiapps.ErrMustAsk) || !strings.Contains(err.Error(), "extension") || d.read(path) != "{}" {
			t.Error(err)
		}
	}
	refused(d.Connect)

	// Anyone who had an entry that the app has lost needs it no longer.
	extension := filepath.Join(filepath.Dir(path), "Claude Extensions", "local.mcpb.forevervm.forevervm")
	if err := os.RemoveAll(extension); err != nil {
		t.Fatal(err)
	}
	d.do(d.Connect, "claude", aiapps.Options{})
	d.write(path, []byte("{}"))
	d.want("claude", aiapps.Wiped)
	add("local.mcpb.forevervm.forevervm", "forevervm")
	d.want("claude", aiapps.Extension)
	refused(d.Repair)
}

// Claude Desktop at times does not install the extension, and does not say so. Repair then connects
// it the other way.
func TestAnExtensionThatIsNotInstalled(t *testing.T) {
	d := newDesk(t, "linux")
	c := computer("linux", d.home)
	c.Open = func(context.Context, string) error { return nil }
	extension := filepath.Join(t.TempDir(), "forevervm.mcpb")
	if err := os.WriteFile(extension, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d.Manager = aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: d.folder, Extension: extension, Now: func() time.Time { return now }})
	settings := d.path("claude")
	if _, err := d.Repair("claude", aiapps.Options{}); !errors.Is(err, aiapps.ErrNotConnected) {
		t.Errorf("before: %v", err)
	}
	if _, err := d.Offer(t.Context(), "claude"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	d.want("claude", aiapps.NotConnected) // the person may still be at it
	now = now.Add(2 * time.Minute)
	d.want("claude", aiapps.Unfinished)

	installed := filepath.Join(filepath.Dir(settings), "Claude Extensions", "ours")
	if err := os.MkdirAll(installed, 0o755); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(installed, "manifest.json"), []byte(`{"name":"forevervm"}`))
	d.want("claude", aiapps.Extension)
	if err := os.RemoveAll(filepath.Dir(installed)); err != nil {
		t.Fatal(err)
	}
	d.want("claude", aiapps.Unfinished)
	if _, err := d.Repair("claude", aiapps.Options{}); err != nil {
		t.Fatal(err)
	}
	d.want("claude", aiapps.Connected)
	if _, err := d.Disconnect("claude", aiapps.Options{}); err != nil {
		t.Fatal(err)
	}
	d.want("claude", aiapps.NotConnected)
}
