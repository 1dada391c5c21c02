//go:build real

package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
)

// appCalls connects an AI app as the page does.
func (c *caller) appCalls(t *testing.T) {
	c.t = t
	folder := filepath.Join(os.Getenv("HOME"), ".cursor")
	file := filepath.Join(folder, "mcp.json")
	cursor := func() api.App {
		for _, app := range as[api.List[api.App]](c, c.send("GET", "/api/apps", nil)).Items {
			if app.ID == "cursor" {
				return app
			}
		}
		t.Fatal("Cursor is not known")
		return api.App{}
	}
	if app := cursor(); app.Installed || app.State != "not connected" || app.Seen != nil {
		t.Errorf("%+v", app)
	}
	c.fails(c.send("POST", "/api/apps/cursor/connect", api.ChangeApp{}), 409, "AppNotInstalled")
	c.fails(c.send("POST", "/api/apps/clod/connect", api.ChangeApp{}), 404, "AppNotFound")

	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	official := `{"mcpServers": {"forevervm": {"command": "npx", "args": ["--yes", "forevervm-mcp", "run"], "env": {"FOREVERVM_TOKEN": "a.SECRET"}}}}`
	if err := os.WriteFile(file, []byte(official), 0o600); err != nil {
		t.Fatal(err)
	}
	if app := cursor(); !app.Installed || app.State != "official" || len(app.Files) != 1 || app.Files[0].Path != file {
		t.Errorf("%+v", app)
	}
	c.fails(c.send("POST", "/api/apps/cursor/connect", api.ChangeApp{}), 409, "AppHasAnother")
	c.fails(c.send("POST", "/api/apps/cursor/test", nil), 409, "AppNotConnected")

	notes := noteOpened(t)
	offered := as[api.AppOffer](c, c.send("POST", "/api/apps/cursor/offer", nil))
	if opened, err := os.ReadFile(notes); err != nil || string(opened) != offered.Opened || !strings.HasPrefix(offered.Opened, "cursor://") {
		t.Errorf("%+v, opened %s, %v", offered, opened, err)
	}
	prompt := api.AppPrompt{Prompt: "Draw the first 100 primes & print them."}
	if a := c.send("POST", "/api/apps/cursor/ask", prompt); a.StatusCode != 204 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	const link = "cursor://anysphere.cursor-deeplink/prompt?text=Draw%20the%20first%20100%20primes%20%26%20print%20them."
	if opened, err := os.ReadFile(notes); err != nil || string(opened) != link {
		t.Errorf("asked with %s, %v", opened, err)
	}
	c.fails(c.send("POST", "/api/apps/cursor/ask", api.AppPrompt{Prompt: strings.Repeat("é", 2501)}), 400, "Invalid")
	c.fails(c.send("POST", "/api/apps/claude/ask", prompt), 409, "AppNotInstalled")
	c.fails(c.send("POST", "/api/apps/claude/offer", nil), 409, "AppNotInstalled")
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	c.fails(c.send("POST", "/api/apps/cursor/offer", nil), 409, "AppHasNoOffer")
	c.fails(c.send("POST", "/api/apps/cursor/ask", prompt), 409, "AppHasNoOffer")
	c.fails(c.send("POST", "/api/apps/zed/repair", api.ChangeApp{}), 409, "AppNotInstalled")
	plan := as[api.AppReport](c, c.send("POST", "/api/apps/cursor/connect", api.ChangeApp{Replace: true, DryRun: true}))
	if len(plan.Changes) != 1 || plan.Changes[0].Action != "replaced" || !strings.Contains(plan.Changes[0].Difference, "bin/forevervm") || strings.Contains(plan.Changes[0].Difference, "SECRET") {
		t.Errorf("%+v", plan)
	}
	if app := cursor(); app.State != "official" {
		t.Errorf("a dry run left %+v", app)
	}
	if done := as[api.AppReport](c, c.send("POST", "/api/apps/cursor/connect", api.ChangeApp{Replace: true})); done.Changes[0] != plan.Changes[0] || done.Running || done.Next != "" {
		t.Errorf("%+v", done)
	}
	if tested := as[api.AppTest](c, c.send("POST", "/api/apps/cursor/test", nil)); tested.Tools == 0 || tested.Version == "" {
		t.Errorf("%+v", tested)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if app := cursor(); app.State != "wiped" {
		t.Errorf("%+v", app)
	}
	as[api.AppReport](c, c.send("POST", "/api/apps/cursor/repair", api.ChangeApp{}))

	// It says hello under its own name, and is then known to have been there.
	if resp := c.send("POST", "/api/clients", nil, func(r *http.Request) { r.Header.Set("X-Forevervm-Client", "cursor-vscode/1.9") }); resp.StatusCode != 204 {
		t.Errorf("%d", resp.StatusCode)
	}
	if app := cursor(); app.State != "connected" || app.Seen == nil || app.Seen.Version != "1.9" || app.Seen.Calls != 0 {
		t.Errorf("%+v, seen %+v", app, app.Seen)
	}
	called := func(calls int) answer {
		return c.send("POST", "/api/clients", api.Hello{Calls: calls}, func(r *http.Request) { r.Header.Set("X-Forevervm-Client", "cursor-vscode/1.9") })
	}
	for range 2 {
		called(3)
	}
	c.fails(called(-1), 400, "Invalid")
	if app := cursor(); app.Seen.Calls != 6 {
		t.Errorf("it has called %d tools", app.Seen.Calls)
	}
	clients := as[api.List[api.ClientUse]](c, c.send("GET", "/api/clients", nil)).Items
	if len(clients) == 0 || clients[0].Name != "cursor-vscode" || clients[0].SeenAt.IsZero() {
		t.Errorf("%+v", clients)
	}

	as[api.AppReport](c, c.send("POST", "/api/apps/cursor/disconnect", api.ChangeApp{}))
	backups := as[api.List[api.AppBackup]](c, c.send("GET", "/api/apps/cursor/backups", nil)).Items
	if len(backups) == 0 || backups[len(backups)-1].Size != int64(len(official)) {
		t.Fatalf("%+v", backups)
	}
	as[api.AppReport](c, c.send("POST", "/api/apps/cursor/restore", api.RestoreApp{Backup: backups[len(backups)-1].ID}))
	if text, err := os.ReadFile(file); err != nil || string(text) != official {
		t.Errorf("restored is %s, %v", text, err)
	}
	c.fails(c.send("POST", "/api/apps/cursor/restore", api.RestoreApp{Backup: "x"}), 404, "AppNotFound")
}

// noteOpened has what is opened noted in a file in place of shown, and returns the file.
func noteOpened(t *testing.T) (file string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$1\" >"+bin+"/opened\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":0")
	return filepath.Join(bin, "opened")
}
