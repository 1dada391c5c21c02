//go:build linux && real

package e2e

import (
	"bufio"
	"bytes"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeProject installs the Node programs' packages into the cache and returns the folder to run
// them from.
func nodeProject(t *testing.T) string {
	t.Helper()
	dir := cache(t, "node")
	from := filepath.Join(repo(t), "backend", "e2e", "testdata", "node")
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(dir, "node_modules", ".installed") // written once all are
	if now, _ := os.ReadFile(installed); !bytes.Equal(now, lock) {
		run(t, dir, os.Environ(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		if err := os.WriteFile(installed, lock, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The `ws` package with headers, as the JavaScript SDK uses it.
func TestJavaScriptWebSocket(t *testing.T) {
	dir := nodeProject(t)
	d := serve(t, newHome(t))
	if out := run(t, dir, d.env(), "node", "repl.mjs"); strings.TrimSpace(out) != "fine" {
		t.Errorf("the program said %q", out)
	}
}

// A browser's page with the token as _forevervm_jwt.
func TestBrowserWebSocket(t *testing.T) {
	dir := nodeProject(t)
	browser := run(t, repo(t), os.Environ(), "build/browser.sh")
	d := serve(t, newHome(t))
	if out := run(t, dir, d.env("CHROMIUM="+strings.TrimSpace(browser)), "node", "browser.mjs"); strings.TrimSpace(out) != "fine" {
		t.Errorf("the program said %q", out)
	}
}

// The main job: an MCP client creates a REPL, analyses a real CSV, gets a plot; the daemon is
// killed with kill -9; the next call goes on with the same variables, and the history is whole.
func TestMainJob(t *testing.T) {
	dir := nodeProject(t)
	home := newHome(t)
	d := serve(t, home)
	plot := filepath.Join(t.TempDir(), "plot.png")
	csv := filepath.Join(repo(t), "backend", "e2e", "testdata", "seattle-weather.csv")

	cmd := exec.Command("node", "main-job.mjs", program(t, "forevervm"), home, csv, plot)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "kill now" {
		_ = cmd.Wait()
		t.Fatalf("the client said %q\n%s\ndaemon's log:\n%s", lines.Text(), stderr.String(), d.log)
	}
	d.kill9()
	if _, err := io.WriteString(in, "killed\n"); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() {
		_ = cmd.Wait()
		t.Fatalf("after the kill: %s", stderr.String())
	}
	name := lines.Text()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}

	f, err := os.Open(plot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatalf("the plot is no picture: %v", err)
	}
	if size := picture.Bounds().Size(); size.X < 300 || size.Y < 200 {
		t.Errorf("the plot is %v", size)
	}

	// The client's `forevervm mcp` has started a daemon of its own; it knows everything, and ends
	// when asked.
	again := adopt(t, home)
	var history struct {
		Items []struct {
			Status     string
			RolledBack bool `json:"rolled_back"`
			Client     struct{ Name string }
		}
	}
	again.mustCall("GET", "/api/machines/"+name+"/instructions", nil, &history)
	if len(history.Items) != 3 {
		t.Fatalf("%d instructions in the history, want 3", len(history.Items))
	}
	for i, in := range history.Items {
		if in.Status != "ok" || in.RolledBack || in.Client.Name != "Claude Desktop" {
			t.Errorf("instruction %d: %+v", i, in)
		}
	}
}
