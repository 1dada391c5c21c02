//go:build linux && system

package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/home/hometest"
)

// windows is the Windows build under Wine, with folders as Windows has them.
type windows struct {
	t       *testing.T
	program string // forevervm.exe
	msi     string // what installed it, or nothing
	drive   string // its drive C, as Linux sees it
	home    string // the person's folder, likewise
	env     []string
}

// underWine builds the program for Windows and makes a Windows to run it on, which outlives the
// test run: making one takes half a minute. `make dist-test` has it install an MSI instead.
func underWine(t *testing.T) *windows {
	t.Helper()
	if msi := os.Getenv("FOREVERVM_MSI"); msi != "" {
		return installed(t, msi)
	}
	env, drive := hometest.Wine(t, "wine")
	w := &windows{t: t, env: env, program: filepath.Join(cache(t, "windows"), "forevervm.exe"), drive: drive, home: filepath.Join(drive, "users", "person")}
	build := exec.Command("go", "build", "-trimpath", "-o", w.program, "./backend/cmd/forevervm")
	build.Dir = repo(t)
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Beside it is what machines in Docker need: links, which lead elsewhere where this checkout
	// was moved.
	for _, part := range []string{"agent", "supervisor", "runsc", "image"} {
		link := filepath.Join(filepath.Dir(w.program), part)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.Symlink(program(t, part), link); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// installed makes a Windows where a person has installed the MSI, until the test ends.
func installed(t *testing.T, msi string) *windows {
	t.Helper()
	env, drive := hometest.Wine(t, "wine-msi")
	home := filepath.Join(drive, "users", "person")
	w := &windows{t: t, env: env, msi: msi, drive: drive, home: home, program: filepath.Join(home, "AppData", "Local", "Programs", "ForeverVM", "forevervm.exe")}
	t.Cleanup(func() {
		if _, err := os.Stat(w.program); err == nil {
			w.uninstall()
		}
	})
	if _, err := os.Stat(w.program); err == nil { // an earlier run was killed
		w.uninstall()
	}
	w.must("wine", "msiexec", "/i", msi, "/qn")
	return w
}

// uninstall removes the data, and what the MSI installed.
func (w *windows) uninstall() {
	w.t.Helper()
	if w.msi == "" {
		w.forevervm("uninstall", "--yes", "--data")
	} else {
		w.must("wine", "msiexec", "/x", w.msi, "/qn", "DELETEDATA=1")
	}
}

// must runs a program under this Windows and returns what it says. That goes to a file: a daemon
// that it starts holds on to where it goes, as one of Windows does not.
func (w *windows) must(name string, args ...string) string {
	w.t.Helper()
	return w.fed("", name, args...)
}

// fed is must for a program that reads its input.
func (w *windows) fed(input, name string, args ...string) string {
	w.t.Helper()
	said, err := os.CreateTemp(w.t.TempDir(), "said")
	if err != nil {
		w.t.Fatal(err)
	}
	defer said.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = cache(w.t, "node"), w.env, said, said
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	failure := cmd.Run()
	text, err := os.ReadFile(said.Name())
	if err := errors.Join(err, failure); err != nil {
		w.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// forevervm runs the program as a person does.
func (w *windows) forevervm(args ...string) string {
	w.t.Helper()
	return w.must("wine", append([]string{w.program}, args...)...)
}

// folder makes one in the person's, and removes it after the test.
func (w *windows) folder(path string) string {
	w.t.Helper()
	path = filepath.Join(w.home, filepath.FromSlash(path))
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(path) })
	return path
}

// endDaemon ends the daemon, and waits until nothing runs under this Windows.
func (w *windows) endDaemon(data string) {
	w.t.Helper()
	endDaemon(w.t, filepath.Join(data, "run"), func() string { return w.forevervm("token", "--owner") })
	w.must("wineserver", "--wait")
}

// Windows' build finds the apps where Windows keeps their settings, those installed from the shop
// included, and what they are told to start starts: the daemon runs, and an MCP client hears why
// there are no machines yet.
func TestWindowsBuildConnectsApps(t *testing.T) {
	w := underWine(t)
	nodeProject(t)
	shop, older := w.folder("AppData/Local/Packages/Claude_pzs8sxrjxfjjc"), w.folder("AppData/Roaming/Claude")
	cursor, code := w.folder(".cursor"), w.folder("AppData/Roaming/Code")
	data := w.folder("AppData/Local/ForeverVM")
	const before = "{\r\n  \"mcpServers\": {\r\n    \"other\": { \"command\": \"C:\\\\x.exe\" }\r\n  }\r\n}\r\n"
	files := map[string]string{
		"claude": filepath.Join(shop, "LocalCache", "Roaming", "Claude", "claude_desktop_config.json"),
		"cursor": filepath.Join(cursor, "mcp.json"), "vscode": filepath.Join(code, "User", "mcp.json"),
	}
	olderFile := filepath.Join(older, "claude_desktop_config.json")
	if err := os.WriteFile(olderFile, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.endDaemon(data) })

	if said := w.forevervm("connect", "--all", "--dry-run"); strings.Count(said, "would be connected") != 4 {
		t.Errorf("a dry run says\n%s", said)
	}
	w.forevervm("connect", "--all")
	for id, client := range map[string]string{"claude": "claude-ai", "cursor": "cursor-vscode", "vscode": "Visual Studio Code"} {
		said := w.must("env", "STARTED_BY=wine", "node", "ai-app.mjs", id, client, files[id])
		if !strings.Contains(said, "This Windows has no WSL") {
			t.Errorf("%s said %q", id, said)
		}
	}
	var apps struct {
		Items []struct {
			ID, State string
			Files     []struct{ Path string }
			Seen      *struct{ Version string }
		}
	}
	if err := json.Unmarshal([]byte(w.forevervm("apps", "--json")), &apps); err != nil {
		t.Fatal(err)
	}
	for _, app := range apps.Items {
		if _, ok := files[app.ID]; ok && (app.State != "connected" || app.Seen == nil || app.Seen.Version != "7.5") {
			t.Errorf("%+v", app)
		}
	}
	// This starts it as Claude Desktop does, without LOCALAPPDATA and ProgramFiles.
	if said := w.forevervm("apps", "test", "claude"); !strings.Contains(said, "It works") {
		t.Error(said)
	}

	// The app rewrites its settings; that is told and mended, and in the end all is as it was.
	if err := os.WriteFile(olderFile, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := w.forevervm("repair"); !strings.Contains(said, "Claude Desktop: connected") {
		t.Error(said)
	}
	w.forevervm("disconnect", "--all")
	if text, err := os.ReadFile(olderFile); err != nil || string(text) != before {
		t.Errorf("it is %q, %v", text, err)
	}
	for id, file := range files {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s: the file that was made for it is still there (%v)", id, err)
		}
	}
}

// A Claude Desktop that runs is ended for a change, and started again by its address.
func TestWindowsBuildRestartsClaudeDesktop(t *testing.T) {
	w := underWine(t)
	nodeProject(t) // whose folder programs are started in
	w.folder("AppData/Roaming/Claude")
	w.folder("AppData/Local/ForeverVM")
	folder := w.folder("AppData/Local/AnthropicClaude/app-1.0")
	program, source, started := filepath.Join(folder, "claude.exe"), filepath.Join(t.TempDir(), "claude.go"), filepath.Join(folder, "started")
	text := `package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	self, _ := os.Executable()
	file, _ := os.OpenFile(filepath.Join(filepath.Dir(self), "started"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	_, _ = file.WriteString(strings.Join(os.Args[1:], " ") + "\n")
	time.Sleep(time.Hour)
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, repo(t), append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"), "go", "build", "-o", program, source)
	const key = `HKCR\claude` // Wine 8 does not look into what is the user's alone
	w.must("wine", "reg", "add", key, "/v", "URL Protocol", "/f")
	w.must("wine", "reg", "add", key+`\shell\open\command`, "/ve", "/d", `"C:\users\person\AppData\Local\AnthropicClaude\app-1.0\claude.exe" "%1"`, "/f")
	t.Cleanup(func() {
		w.must("wine", "reg", "delete", key, "/f")
		w.must("wineserver", "--wait")
	})
	cmd := exec.Command("wine", program)
	cmd.Env = w.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.must("wine", "taskkill", "/F", "/IM", "claude.exe")
		_ = cmd.Wait()
	})
	starts := func(want ...string) func() error {
		return func() error {
			if text, _ := os.ReadFile(started); string(text) != strings.Join(want, "\n")+"\n" {
				return fmt.Errorf("it was started with %q, want %q", text, want)
			}
			return nil
		}
	}
	if err := until(time.Minute, starts("")); err != nil {
		t.Fatal(err)
	}
	if said := w.forevervm("connect", "claude", "--restart"); !strings.Contains(said, "Claude Desktop was quit and started again.") {
		t.Error(said)
	}
	if err := until(time.Minute, starts("", "claude://")); err != nil {
		t.Error(err)
	}
	if said := w.forevervm("disconnect", "claude"); !strings.Contains(said, "Claude Desktop runs and does not know of it yet") {
		t.Error(said)
	}
}

// Claude Desktop's extension for Windows finds the program that ran last, and says so where none
// did.
func TestTheExtensionOnWindows(t *testing.T) {
	w := underWine(t)
	nodeProject(t)
	data := w.folder("AppData/Local/ForeverVM")
	bundle := filepath.Join(t.TempDir(), "forevervm.mcpb")
	run(t, repo(t), os.Environ(), "build/mcpb/build.sh", "0.0.1", bundle, "windows", "amd64")
	folder := unpacked(t, bundle)
	extension := func(what string) string {
		t.Helper()
		return w.must("env", "STARTED_BY=wine", "node", "extension.mjs", folder, what)
	}
	if said := extension("create-python-repl"); !strings.Contains(said, "ForeverVM Desktop is not installed on this computer") {
		t.Errorf("with nothing installed it said %q", said)
	}
	t.Cleanup(func() { w.endDaemon(data) })
	w.forevervm("machine", "new", "--name", "mine")
	if said := extension("mine"); !strings.Contains(said, "This Windows has no WSL") {
		t.Errorf("it said %q", said)
	}
}

// Windows' build keeps the token of a hosted account in Windows' credential store, from where the
// next daemon has it, and in no file.
func TestWindowsBuildKeepsTheToken(t *testing.T) {
	w := underWine(t)
	nodeProject(t) // whose folder programs are started in
	service := serve(t, newHome(t))
	data := w.folder("AppData/Local/ForeverVM")
	t.Cleanup(func() { w.endDaemon(data) })
	says := func(want, said string) {
		t.Helper()
		if !strings.Contains(said, want) {
			t.Errorf("it says %q, want %q", said, want)
		}
	}
	says("Logged in as local", w.fed(service.token+"\n", "wine", w.program, "login", "--api-base-url", service.url))
	w.endDaemon(data)
	w.holdsNot(service.token)
	says("Logged in to "+service.url+" as local", w.forevervm("whoami"))
	var far struct{ Name string }
	if err := json.Unmarshal([]byte(w.forevervm("machine", "new", "--engine", "hosted", "--json")), &far); err != nil {
		t.Fatal(err)
	}
	says("42", w.forevervm("exec", far.Name, "6 * 7"))
	says("hosted", w.forevervm("machine", "new", "--engine", "auto", "--json")) // no engine works on this Windows
	w.endDaemon(data)
	w.holdsNot(service.token)
	says("Successfully logged out", w.forevervm("logout"))
	says("Not currently logged in", w.forevervm("logout"))
}

// Windows' build reaches the hosted service by the proxy that is set for all of Windows.
func TestWindowsBuildUsesTheProxy(t *testing.T) {
	w := underWine(t)
	nodeProject(t) // whose folder programs are started in
	data := w.folder("AppData/Local/ForeverVM")
	t.Cleanup(func() { w.endDaemon(data) })
	asked := make(chan string, 100)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		rw.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	// Where Windows keeps it: a version, a count of changes, 3 for "directly, or by a proxy", and
	// the proxy and what needs none, each after its length.
	address := proxy.Listener.Addr().String()
	settings := append([]byte{0x46, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, byte(len(address)), 0, 0, 0}, address...)
	settings = append(settings, make([]byte, 4+4+32)...)
	const key, name = `HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings\Connections`, "DefaultConnectionSettings"
	w.must("wine", "reg", "add", key, "/v", name, "/t", "REG_BINARY", "/d", hex.EncodeToString(settings), "/f")
	t.Cleanup(func() { w.must("wine", "reg", "delete", key, "/v", name, "/f") })
	said := w.fed("a.token\n", "sh", "-c", `wine "$0" login --api-base-url https://service.example; true`, w.program)
	if !strings.Contains(said, "The proxy that this computer is set to use") {
		t.Errorf("behind a proxy that refuses, it says %q", said)
	}
	select {
	case what := <-asked:
		if what != "CONNECT service.example:443" {
			t.Errorf("the proxy was asked to %s", what)
		}
	default:
		t.Error("the proxy was not asked")
	}
}

// holdsNot looks for a text in every file of this Windows that may change: the person's and the
// registry.
func (w *windows) holdsNot(text string) {
	w.t.Helper()
	var wide []byte // as Windows writes it
	for _, c := range []byte(text) {
		wide = append(wide, c, 0)
	}
	prefix := cache(w.t, "wine")
	looked := 0
	look := func(path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			w.t.Error(err)
		}
		looked++
		if bytes.Contains(content, []byte(text)) || bytes.Contains(content, wide) {
			w.t.Errorf("%s holds the token", path)
		}
	}
	registry, err := filepath.Glob(filepath.Join(prefix, "*.reg"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range registry {
		look(path)
	}
	err = filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			look(path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	if len(registry) == 0 || looked == len(registry) {
		w.t.Errorf("%d files were looked at, %d of the registry", looked, len(registry))
	}
}
