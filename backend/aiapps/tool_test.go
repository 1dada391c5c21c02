//go:build linux

package aiapps_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps"
)

// claudeCode stands in for Claude Code's `claude`: as that does, it rewrites the whole file,
// with more than the entry in it.
const claudeCode = `#!/usr/bin/env python3
import json, os, sys
open("calls", "a").write(" ".join(sys.argv[1:5]) + "\n")
try:
    state = json.load(open(".claude.json"))
except FileNotFoundError:
    state = {"firstStartTime": "now"}
servers = state.setdefault("mcpServers", {})
if sys.argv[2] == "add-json":
    assert sys.argv[5] not in servers
    servers[sys.argv[5]] = json.loads(sys.argv[6])
else:
    del servers[sys.argv[5]]
state["calls"] = state.get("calls", 0) + 1
json.dump(state, open(".claude.json", "w"), indent=2)
`

// withTool is a desk whose `claude` is this program.
func withTool(t *testing.T, program string) *desk {
	t.Helper()
	d := newDesk(t, "linux")
	tool := filepath.Join(d.home, "claude")
	if err := os.WriteFile(tool, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	c := computer("linux", d.home)
	c.Find = func(name string) string {
		if name == "claude" {
			return tool
		}
		return ""
	}
	d.Manager = aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: d.folder})
	return d
}

// Claude Code's own command is asked to change its file, in which it keeps much else.
func TestClaudeCodesOwnCommandIsPreferred(t *testing.T) {
	for _, before := range []string{"", `{"projects":{"/x":{}},"mcpServers":{"other":{"command":"y","env":{"K":"SECRET"}}}}`} {
		d := withTool(t, claudeCode)
		path := d.path("claude-code")
		if before != "" {
			d.write(path, []byte(before))
		}
		change := d.do(d.Connect, "claude-code", aiapps.Options{})
		if change.Action != aiapps.Added || !strings.Contains(change.Difference, server.Program) || strings.Contains(change.Difference, "SECRET") {
			t.Errorf("%+v", change)
		}
		d.want("claude-code", aiapps.Connected)
		if got := d.read(path); !strings.Contains(got, `"calls": 1`) {
			t.Errorf("it was not asked:\n%s", got)
		}
		// The program has moved, and the entry is brought up to date.
		d.write(path, []byte(strings.ReplaceAll(d.read(path), "/opt/", "/elsewhere/")))
		d.want("claude-code", aiapps.Outdated)
		d.do(d.Repair, "claude-code", aiapps.Options{})
		d.want("claude-code", aiapps.Connected)
		if change := d.do(d.Disconnect, "claude-code", aiapps.Options{}); change.Action != aiapps.Removed {
			t.Errorf("%+v", change)
		}
		d.want("claude-code", aiapps.NotConnected)
		const add, remove = "mcp add-json --scope user\n", "mcp remove --scope user\n"
		if got, want := d.read(filepath.Join(d.home, "calls")), add+remove+add+remove; got != want {
			t.Errorf("it was asked\n%swant\n%s", got, want)
		}
		if got := d.read(path); strings.Contains(got, "forevervm") || strings.Contains(before, "other") != strings.Contains(got, `"other"`) || !strings.Contains(got, `"calls": 4`) {
			t.Errorf("it is\n%s", got)
		}
	}
}

// Where the command fails, or does something else, the file is changed as those of other apps.
func TestAToolThatDoesNotWork(t *testing.T) {
	const before = `{"mcpServers":{"other":{"command":"y"}}}`
	for name, program := range map[string]string{
		"fails":            "#!/bin/sh\nexit 1\n",
		"does nothing":     "#!/bin/sh\nexit 0\n",
		"cannot be run":    "#!/nowhere\n",
		"is of no version": "#!/bin/sh\necho unknown command >&2; exit 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := withTool(t, program)
			path := d.file("claude-code", []byte(before))
			d.do(d.Connect, "claude-code", aiapps.Options{})
			d.want("claude-code", aiapps.Connected)
			d.do(d.Disconnect, "claude-code", aiapps.Options{})
			if got := d.read(path); got != before {
				t.Errorf("it is %s", got)
			}
		})
	}
}

// A command that changes something else gives way too; what it did stays.
func TestAToolThatDoesSomethingElse(t *testing.T) {
	d := withTool(t, `#!/bin/sh
[ -e done ] || printf '{"mcpServers":{"other":{"command":"z"}}}' >.claude.json
touch done
`)
	path := d.file("claude-code", []byte(`{"mcpServers":{"other":{"command":"y"}}}`))
	d.do(d.Connect, "claude-code", aiapps.Options{})
	d.want("claude-code", aiapps.Connected)
	if got := d.read(path); !strings.Contains(got, `"z"`) {
		t.Errorf("it is %s", got)
	}
}

// The daemon, which the desktop may have started, finds what the person's terminal does.
func TestProgramsOfAPersonsOwnAreFound(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", "/usr/bin:/bin")
	computer, err := aiapps.ThisComputer()
	if err != nil {
		t.Fatal(err)
	}
	const name = "a-program-of-this-test"
	if found := computer.Find(name); found != "" {
		t.Errorf("found %q", found)
	}
	program := filepath.Join(home, ".local", "bin", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(program), 0o755), os.WriteFile(program, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if found := computer.Find(name); found != "" {
		t.Errorf("found what cannot be started: %q", found)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if found := computer.Find(name); found != program {
		t.Errorf("found %q", found)
	}
}
