//go:build !windows && real

package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// node installs the Node programs into a folder that outlives the test run, and returns it.
func node(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "build", "cache", "mcp-conformance"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	installed, _ := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	for _, name := range []string{"package.json", "package-lock.json", "ask.mjs", "conformance.mjs", "tasks.mjs"} {
		data, err := os.ReadFile(filepath.Join("testdata", "conformance", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "package-lock.json" && bytes.Equal(data, installed) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil || !bytes.Equal(lock, installed) {
		output(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	}
	return dir
}

// output runs a program and returns what it printed; a failure is shown whole.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// The official SDK's client finds everything as it should be, over each transport.
func TestOfficialClient(t *testing.T) {
	dir := node(t)
	home := connecttest.Home(t)
	d := connecttest.Start(t, home)
	for transport, args := range map[string][]string{
		"stdio": {connecttest.Program(t, "forevervm"), home},
		"http":  {d.URL, d.Token},
		"sse":   {d.URL, d.Token},
	} {
		t.Run(transport, func(t *testing.T) {
			said := output(t, dir, "node", append([]string{"conformance.mjs", transport}, args...)...)
			t.Log("\n" + said)
			if !strings.HasSuffix(said, "fine\n") {
				t.Error("it did not come to its end")
			}
		})
	}
}

// The official client of the extension for tasks finds it as it should be, over each transport.
func TestOfficialTasksClient(t *testing.T) {
	dir := node(t)
	home := connecttest.Home(t)
	d := connecttest.Start(t, home)
	if _, err := d.Client("the test").ChangeSettings(t.Context(), map[string]any{"network": "ask"}); err != nil {
		t.Fatal(err)
	}
	for transport, args := range map[string][]string{
		"stdio": {connecttest.Program(t, "forevervm"), home},
		"http":  {d.URL, d.Token},
		"sse":   {d.URL, d.Token},
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			said := output(t, dir, "node", append([]string{"tasks.mjs", transport}, args...)...)
			t.Log("\n" + said)
			if !strings.HasSuffix(said, "fine\n") {
				t.Error("it did not come to its end")
			}
		})
	}
}

// python is the interpreter of an environment with the official Python SDK, which outlives the test
// run.
func python(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "build", "cache", "mcp-python"))
	if err != nil {
		t.Fatal(err)
	}
	requirements := filepath.Join("testdata", "conformance", "requirements.txt")
	interpreter := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(interpreter); err != nil {
		output(t, ".", "python3", "-m", "venv", dir)
	}
	output(t, ".", interpreter, "-m", "pip", "install", "--quiet", "--requirement", requirements)
	return interpreter
}

// The official Python SDK's client cancels a call as each revision of the protocol and each
// transport has it.
func TestOfficialClientCancels(t *testing.T) {
	interpreter := python(t)
	home := connecttest.Home(t)
	d := connecttest.Start(t, home)
	for name, args := range map[string][]string{
		"http, " + stateless: {"auto", d.URL, d.Token},
		"http, older":        {"legacy", d.URL, d.Token},
		"stdio":              {"auto", connecttest.Program(t, "forevervm"), home},
	} {
		t.Run(name, func(t *testing.T) {
			said := output(t, ".", interpreter, append([]string{filepath.Join("testdata", "conformance", "cancel.py")}, args...)...)
			t.Log("\n" + said)
			if !strings.HasSuffix(said, "fine\n") {
				t.Error("it did not come to its end")
			}
			if older := args[0] == "legacy"; older == strings.HasPrefix(said, stateless) {
				t.Errorf("it spoke another revision: %s", said)
			}
		})
	}
}

// The Inspector's command line, over each transport, in the older and in the stateless protocol.
func TestInspector(t *testing.T) {
	dir := node(t)
	home := connecttest.Home(t)
	d := connecttest.Start(t, home)
	// The package's own `mcp-inspector` is this file; npx would look for it on the network first.
	cli := filepath.Join("node_modules", ".bin", "mcp-inspector")
	inspect := func(t *testing.T, target []string, args ...string) map[string]any {
		t.Helper()
		all := append([]string{cli, "--cli", "--quiet"}, args...)
		said := output(t, dir, "node", append(all, target...)...)
		var document map[string]any
		if err := json.Unmarshal([]byte(said), &document); err != nil {
			t.Fatalf("not JSON: %v\n%s", err, said)
		}
		return document
	}
	authorized := []string{"--header", "Authorization: Bearer " + d.Token}
	for name, target := range map[string][]string{
		"stdio":       {"--", connecttest.Program(t, "forevervm"), "mcp", "--home", home},
		"http":        append([]string{"--server-url", d.URL + "/mcp", "--transport", "http"}, authorized...),
		"http modern": append([]string{"--server-url", d.URL + "/mcp", "--transport", "http", "--protocol-era", "modern"}, authorized...),
		"sse":         append([]string{"--server-url", d.URL + "/sse", "--transport", "sse"}, authorized...),
	} {
		t.Run(name, func(t *testing.T) {
			// --strict fails on schemas that some client cannot take, and warns of those that some
			// may not.
			said := output(t, dir, "sh", append([]string{"-c", `node "$@" 2>&1`, "-", cli, "--cli", "--method", "tools/list", "--strict"}, target...)...)
			var list struct{ Tools []any }
			if err := json.Unmarshal([]byte(said), &list); err != nil || len(list.Tools) != 12 {
				t.Errorf("%d tools (%v): … %s", len(list.Tools), err, said[max(0, len(said)-2000):])
			}
			made := inspect(t, target, "--method", "tools/call", "--tool-name", "create-python-repl")
			repl := made["content"].([]any)[0].(map[string]any)["text"].(string)
			ran := inspect(t, target, "--method", "tools/call", "--tool-name", "run-python-in-repl",
				"--tool-args-json", `{"replId": "`+repl+`", "pythonCode": "6*7"}`)
			if got := ran["content"].([]any)[0].(map[string]any)["text"]; got != "42" {
				t.Errorf("6*7 is %v", got)
			}
			inspect(t, target, "--method", "resources/read", "--uri", "forevervm://machine/"+repl+"/transcript")
			inspect(t, target, "--method", "prompts/list")
		})
	}
}
