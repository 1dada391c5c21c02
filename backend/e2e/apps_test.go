//go:build linux && real

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aiApp is how an app is found, and what it calls itself to MCP servers.
type aiApp struct {
	folder string // below the user's home; its settings are in it, or
	file   string // here
	client string
}

var aiApps = map[string]aiApp{
	"claude":          {".config/Claude", "claude_desktop_config.json", "claude-ai"},
	"claude-code":     {".claude", "../.claude.json", "claude-code"},
	"cursor":          {".cursor", "mcp.json", "cursor-vscode"},
	"vscode":          {".config/Code", "User/mcp.json", "Visual Studio Code"},
	"vscode-insiders": {".config/Code - Insiders", "User/mcp.json", "Visual Studio Code - Insiders"},
	"windsurf":        {".codeium/windsurf", "mcp_config.json", "windsurf-client"},
	"goose":           {".config/goose", "config.yaml", "goose-desktop"},
	"zed":             {".config/zed", "settings.json", "Zed"},
	"lm-studio":       {".lmstudio", "mcp.json", "lmstudio-mcp-bridge"},
	"codex":           {".codex", "config.toml", "codex-mcp-client"},
	"gemini":          {".gemini", "settings.json", "gemini-cli-mcp-client"},
	"cline":           {".config/Code/User/globalStorage/saoudrizwan.claude-dev", "settings/cline_mcp_settings.json", "Cline"},
	"continue":        {".continue", "config.yaml", "continue-client"},
	"junie":           {".junie", "mcp/mcp.json", "junie"},
	"kiro":            {".kiro", "settings/mcp.json", "Kiro"},
	"opencode":        {".config/opencode", "opencode.json", "opencode"},
	"amp":             {".config/amp", "settings.json", "amp-mcp-client"},
	"copilot":         {".copilot", "mcp-config.json", "github-copilot-developer"},
	"kimi":            {".kimi-code", "mcp.json", "kimi-code"},
	"factory":         {".factory", "mcp.json", "factory-cli"},
	"roo":             {".config/Code/User/globalStorage/rooveterinaryinc.roo-cline", "settings/mcp_settings.json", "Roo Code"},
	"antigravity":     {".gemini/config", "mcp_config.json", "antigravity-client"},
}

// Every app is connected, reads its settings with the parser of its kind, starts what they say with
// the official SDK, and runs Python; that it was really there is then known.
func TestAIAppsRunPython(t *testing.T) {
	dir := nodeProject(t)
	user, home := t.TempDir(), newHome(t)
	for _, app := range aiApps {
		if err := os.MkdirAll(filepath.Join(user, app.folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+user, "XDG_CONFIG_HOME=", "FOREVERVM_BASE_URL=", "CODEX_HOME=", "CLAUDE_CONFIG_DIR=")
	d := serve(t, home)
	var made struct{ Name string }
	d.mustCall("POST", "/api/machines", map[string]any{}, &made)
	forevervm := func(args ...string) string {
		t.Helper()
		return run(t, dir, env, program(t, "forevervm"), append(args, "--home", home)...)
	}
	for id := range aiApps {
		forevervm("connect", id)
	}
	token := strings.TrimSpace(forevervm("token", "--owner"))
	for id, app := range aiApps {
		file := filepath.Join(user, app.folder, app.file)
		if text, err := os.ReadFile(file); err != nil || token == "" || strings.Contains(string(text), token) {
			t.Errorf("%s: the token is in %s (%v)", id, file, err)
		}
		if out := run(t, dir, env, "node", "ai-app.mjs", id, app.client, file, made.Name); strings.TrimSpace(out) != "fine" {
			t.Errorf("%s said %q", id, out)
		}
	}
	var seen struct {
		Items []struct {
			ID, State string
			Seen      *struct {
				At      time.Time
				Version string
				Calls   int
			}
		}
	}
	if err := json.Unmarshal([]byte(forevervm("apps", "--json")), &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.Items) != len(aiApps) {
		t.Errorf("%d apps are listed, and %d were tried", len(seen.Items), len(aiApps))
	}
	for _, app := range seen.Items {
		if app.State != "connected" || app.Seen == nil || app.Seen.Version != "7.5" || app.Seen.Calls != 1 || time.Since(app.Seen.At) > patience {
			t.Errorf("%+v, seen %+v", app, app.Seen)
		}
	}
	if said := forevervm("apps", "test", "claude"); !strings.Contains(said, "It works: version") {
		t.Error(said)
	}

	// The program that the settings name leads nowhere: the test says so, and a command mends it.
	settings := filepath.Join(user, ".cursor", "mcp.json")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(strings.ReplaceAll(string(text), "/bin/forevervm", "/gone/forevervm")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, "forevervm"), "apps", "test", "cursor", "--home", home)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "does not start") || !strings.Contains(string(out), "forevervm repair cursor") {
		t.Errorf("%v: %s", err, out)
	}
	forevervm("repair", "cursor")
	if said := forevervm("apps", "test", "cursor"); !strings.Contains(said, "It works") {
		t.Error(said)
	}
	forevervm("disconnect", "--all")
	for id, app := range aiApps {
		if _, err := os.Stat(filepath.Join(user, app.folder, app.file)); !os.IsNotExist(err) {
			t.Errorf("%s: the file that was made for it is still there (%v)", id, err)
		}
	}
}
