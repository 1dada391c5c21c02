package aiapps_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/aiapps"
)

// server is what the tests' entries start.
var server = aiapps.Server{Program: "/opt/ForeverVM Desktop/forevervm", Args: []string{"mcp"}}

// computer is one of the given system whose user has the given home, and on which nothing runs.
func computer(system, home string) aiapps.Computer {
	return aiapps.Computer{
		System: system, Home: home, Env: func(string) string { return "" },
		Programs: func() ([]aiapps.Program, error) { return nil, nil }, Find: func(string) string { return "" },
	}
}

// desk is a manager with a home of its own.
type desk struct {
	*aiapps.Manager
	t      *testing.T
	home   string
	folder string // what the manager keeps
}

func newDesk(t *testing.T, system string) *desk {
	t.Helper()
	d := &desk{t: t, home: t.TempDir(), folder: filepath.Join(t.TempDir(), "apps")}
	d.Manager = aiapps.New(aiapps.Config{Computer: computer(system, d.home), Server: server, Folder: d.folder})
	return d
}

// file writes an app's first file, in a folder that shows that the app is there, and returns its
// path.
func (d *desk) file(id string, data []byte) string {
	d.t.Helper()
	path := d.path(id)
	d.write(path, data)
	return path
}

// path is an app's first file on Linux; its folder is made.
func (d *desk) path(id string) string {
	d.t.Helper()
	app, ok := aiapps.Find(id)
	if !ok {
		d.t.Fatalf("no app %q", id)
	}
	at := strings.NewReplacer("~", d.home, "{config}", d.home+"/.config", "{claude}", d.home, "{codex}", d.home+"/.codex").Replace(app.Files["linux"][0])
	folder, rest, _ := strings.Cut(at, "//")
	path := filepath.Join(folder, rest)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) write(path string, data []byte) {
	d.t.Helper()
	if err := os.WriteFile(path, data, 0o640); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(path string) string {
	d.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *desk) state(id string) aiapps.State {
	d.t.Helper()
	all, err := d.Status(id)
	if err != nil {
		d.t.Fatal(err)
	}
	return all[0].State
}

func (d *desk) want(id string, state aiapps.State) {
	d.t.Helper()
	if got := d.state(id); got != state {
		d.t.Errorf("%s is %q, want %q", id, got, state)
	}
}

// do runs a change that must succeed and touch one file.
func (d *desk) do(change func(string, aiapps.Options) (aiapps.Report, error), id string, options aiapps.Options) aiapps.Change {
	d.t.Helper()
	report, err := change(id, options)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(report.Changes) != 1 {
		d.t.Fatalf("%d files: %+v", len(report.Changes), report)
	}
	return report.Changes[0]
}

// corpus calls test with each file of a folder of testdata; a file's name begins with the app whose
// it is.
func corpus(t *testing.T, folder string, test func(t *testing.T, id string, data []byte)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		id, _, ok := strings.Cut(entry.Name(), "--")
		if !ok {
			t.Fatalf("%s belongs to no app", entry.Name())
		}
		data, err := os.ReadFile(filepath.Join("testdata", folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel() // most of the time is the disk's
			test(t, id, data)
		})
	}
}

// hadOurs says whether a file of the corpus came with an entry of this program, which disconnecting
// takes out.
func hadOurs(t *testing.T) bool { return strings.Contains(t.Name(), "ours-") }

func TestConnectThenDisconnectGivesTheVeryBytes(t *testing.T) {
	corpus(t, "corpus", func(t *testing.T, id string, data []byte) {
		d := newDesk(t, "linux")
		app, _ := aiapps.Find(id)
		path := d.file(id, data)
		before := d.state(id)

		planned := d.do(d.Connect, id, aiapps.Options{Replace: true, DryRun: true})
		if got := d.read(path); got != string(data) {
			t.Fatalf("a dry run changed the file:\n%s", got)
		}
		showsNoSecret(t, planned.Difference)
		if !strings.HasSuffix(planned.Difference, "\n") {
			t.Errorf("the difference ends within a line:\n%q", planned.Difference)
		}
		done := d.do(d.Connect, id, aiapps.Options{Replace: true})
		if done.Difference != planned.Difference || done.Action != planned.Action || done.Difference == "" {
			t.Errorf("planned %+v, done %+v", planned, done)
		}
		connected := d.read(path)
		d.want(id, aiapps.Connected)
		if begun := app.List.Start != "" && len(data) == 0; !begun && !app.List.SameBut(data, []byte(connected), nameIn(t, app, connected)) {
			t.Errorf("more than the entry has changed:\n%s", connected)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode became %v, %v", info.Mode(), err)
		}

		if again := d.do(d.Connect, id, aiapps.Options{}); again.Action != aiapps.Nothing || d.read(path) != connected {
			t.Errorf("connecting twice is not as connecting once: %+v", again)
		}

		showsNoSecret(t, d.do(d.Disconnect, id, aiapps.Options{}).Difference)
		got := d.read(path)
		if !hadOurs(t) {
			if got != string(data) {
				t.Errorf("disconnected it is\n%q, it was\n%q", got, data)
			}
			d.want(id, before)
			return
		}
		d.want(id, aiapps.NotConnected)
		if !app.List.SameBut(data, []byte(got), nameIn(t, app, string(data))) {
			t.Errorf("more than the entry has gone:\n%s", got)
		}
	})
}

func showsNoSecret(t *testing.T, difference string) {
	t.Helper()
	for _, shown := range []string{"SECRET", "ghp_", "password"} {
		if strings.Contains(difference, shown) {
			t.Errorf("the difference shows a secret:\n%s", difference)
		}
	}
}

// nameIn is the name of the entry that starts this program.
func nameIn(t *testing.T, app aiapps.App, text string) string {
	t.Helper()
	servers, err := app.List.Servers([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, s := range servers {
		if s.Name == "python" {
			return s.Name
		}
	}
	return aiapps.Key
}

// Where the app has changed the file since, only our entry goes, and the one that it replaced comes
// back.
func TestDisconnectAfterTheAppHasWritten(t *testing.T) {
	corpus(t, "corpus", func(t *testing.T, id string, data []byte) {
		if hadOurs(t) {
			return
		}
		d := newDesk(t, "linux")
		app, _ := aiapps.Find(id)
		path := d.file(id, data)
		d.do(d.Connect, id, aiapps.Options{Replace: true})
		other := app.Entry(aiapps.Server{Program: "other", Args: []string{"x"}})
		written, err := app.List.Set([]byte(d.read(path)), "added-meanwhile", other)
		if err != nil {
			t.Fatal(err)
		}
		want, err := app.List.Set(data, "added-meanwhile", other)
		if err != nil {
			t.Fatal(err)
		}
		d.write(path, written)
		d.want(id, aiapps.Connected)
		d.do(d.Disconnect, id, aiapps.Options{})
		got := d.read(path)
		// No entry has this name, so that all of the two is compared.
		if !app.List.SameBut([]byte(got), want, "no-such-entry") {
			t.Errorf("it is\n%s\nwant\n%s", got, want)
		}
		for _, comment := range []string{"// ", "/* ", "# "} {
			if strings.Count(got, comment) != strings.Count(string(data), comment) {
				t.Errorf("comments were lost:\n%s", got)
			}
		}
	})
}

// The app has rewritten its file, in its own layout.
func TestDisconnectAfterTheAppHasReformatted(t *testing.T) {
	d := newDesk(t, "linux")
	path := d.file("claude", []byte(`{"mcpServers":{"forevervm":{"command":"npx","args":["--yes","forevervm-mcp","run"]},"x":{"command":"y"}}}`))
	d.do(d.Connect, "claude", aiapps.Options{Replace: true})
	d.write(path, []byte("{\n  \"mcpServers\": {\n    \"forevervm\": {\n      \"command\": \""+server.Program+"\",\n      \"args\": [\n        \"mcp\"\n      ]\n    },\n    \"x\": {\n      \"command\": \"y\"\n    }\n  },\n  \"new\": true\n}\n"))
	d.want("claude", aiapps.Connected)
	if change := d.do(d.Disconnect, "claude", aiapps.Options{}); change.Action != aiapps.PutBack {
		t.Errorf("%+v", change)
	}
	d.want("claude", aiapps.Official)
	if got := d.read(path); !strings.Contains(got, `"new": true`) || !strings.Contains(got, `"forevervm-mcp"`) {
		t.Errorf("%s", got)
	}
}

func TestBrokenFilesAreLeftAlone(t *testing.T) {
	places := map[string]string{
		"claude--comment.json": "line 2", "claude--trailing-comma.json": "line 4", "claude--missing-comma.json": "line 3",
		"claude--cut-off.json": "line 3", "claude--latin1.json": "line 2", "claude--html.json": "line 1", "claude--too-deep.json": "line 1",
		"goose--tab.yaml": "line 2", "goose--duplicate.yaml": "line 3", "codex--twice.toml": "line 3", "codex--bad-string.toml": "line 1",
	}
	corpus(t, "broken", func(t *testing.T, id string, data []byte) {
		d := newDesk(t, "linux")
		path := d.file(id, data)
		for what, change := range map[string]func(string, aiapps.Options) (aiapps.Report, error){"connect": d.Connect, "disconnect": d.Disconnect, "repair": d.Repair} {
			_, err := change(id, aiapps.Options{Replace: true})
			if err == nil && what == "disconnect" {
				continue // there is nothing of ours in it
			}
			if err == nil || strings.Contains(err.Error(), "SECRET") {
				t.Fatalf("%s: %v", what, err)
			}
			if what == "connect" {
				t.Log(err)
				if want := places[filepath.Base(t.Name())]; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if got := d.read(path); got != string(data) {
				t.Errorf("%s changed it to\n%s", what, got)
			}
		}
	})
}

func TestMissingFilesAndFoldersComeAndGo(t *testing.T) {
	for _, app := range aiapps.Apps {
		t.Run(app.ID, func(t *testing.T) {
			d := newDesk(t, "linux")
			if _, err := d.Connect(app.ID, aiapps.Options{}); !errors.Is(err, aiapps.ErrNotInstalled) {
				t.Fatalf("an app that is not there: %v", err)
			}
			path := d.path(app.ID)
			if app.ID == "claude-code" {
				if err := os.Mkdir(filepath.Join(d.home, ".claude"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			// The folder that shows the app is there; what is below it is made and removed again.
			deep := filepath.Dir(path)
			if app.ID == "kiro" || app.ID == "junie" || app.ID == "vscode" {
				if err := os.Remove(deep); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, d.home)
			d.want(app.ID, aiapps.NotConnected)
			d.do(d.Connect, app.ID, aiapps.Options{})
			d.want(app.ID, aiapps.Connected)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("a new file: %v, %v", info, err)
			}
			if change := d.do(d.Disconnect, app.ID, aiapps.Options{}); change.Action != aiapps.DeletedFile {
				t.Errorf("%+v", change)
			}
			if after := tree(t, d.home); !slices.Equal(before, after) {
				t.Errorf("left is %q, there was %q", after, before)
			}
		})
	}
}

// tree lists all files and folders under one.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnotherServerIsNotReplacedUnasked(t *testing.T) {
	for file, says := range map[string]string{"claude--official-with-token.json": "hosted ForeverVM", "claude--another-of-that-name.json": "another server"} {
		data, err := os.ReadFile(filepath.Join("testdata", "corpus", file))
		if err != nil {
			t.Fatal(err)
		}
		d := newDesk(t, "linux")
		path := d.file("claude", data)
		if _, err := d.Connect("claude", aiapps.Options{}); !errors.Is(err, aiapps.ErrMustAsk) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--replace") {
			t.Errorf("%s: %v", file, err)
		}
		if d.read(path) != string(data) {
			t.Errorf("%s was changed", file)
		}
	}
}

// An entry of an older version, or made by hand, is recognised and brought up to date; what the
// person set in it stays.
func TestOurOwnOlderEntries(t *testing.T) {
	for file, keeps := range map[string]string{
		"claude--ours-older.json": `"time"`, "claude--ours-by-hand-other-name.json": `"python"`, "vscode--ours-with-extras.json": `"watch"`,
		"cline--ours-switched-off.json": `"autoApprove": ["run-python-in-repl"]`, "goose--ours-older.yaml": "run-python-in-repl",
		"codex--ours-older.toml": "tool_timeout_sec = 120", "codex--ours-in-table.toml": "other", "zed--ours-old-shape.json": "settings",
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "corpus", file))
			if err != nil {
				t.Fatal(err)
			}
			id, _, _ := strings.Cut(file, "--")
			d := newDesk(t, "linux")
			path := d.file(id, data)
			d.want(id, aiapps.Outdated)
			if change := d.do(d.Repair, id, aiapps.Options{}); change.Action != aiapps.Updated || !strings.Contains(change.Difference, server.Program) {
				t.Errorf("%+v", change)
			}
			d.want(id, aiapps.Connected)
			if got := d.read(path); !strings.Contains(got, keeps) || strings.Contains(got, "/old/") || strings.Contains(got, "0.0.9") {
				t.Errorf("it is\n%s", got)
			}
		})
	}
}

// An update moved the program: repairing changes the entry, and disconnecting still gives back the
// first bytes.
func TestTheProgramHasMoved(t *testing.T) {
	corpus(t, "corpus", func(t *testing.T, id string, data []byte) {
		if hadOurs(t) {
			return
		}
		d := newDesk(t, "linux")
		path := d.file(id, data)
		d.do(d.Connect, id, aiapps.Options{Replace: true})
		moved := server
		moved.Program, moved.Args = "/usr/bin/forevervm", []string{"mcp", "--home", "/a b"}
		d.Manager = aiapps.New(aiapps.Config{Computer: computer("linux", d.home), Server: moved, Folder: d.folder})
		d.want(id, aiapps.Outdated)
		d.do(d.Repair, id, aiapps.Options{})
		d.want(id, aiapps.Connected)
		d.do(d.Disconnect, id, aiapps.Options{})
		if got := d.read(path); got != string(data) {
			t.Errorf("disconnected it is\n%q, it was\n%q", got, data)
		}
	})
}

// An app that writes back what it had in memory wipes the entry: that is told, and repaired.
func TestAWipedEntryIsRepaired(t *testing.T) {
	for _, left := range []string{"{\n  \"mcpServers\": {}\n}\n", `{"theme":"dark"}`, ""} {
		d := newDesk(t, "linux")
		path := d.file("claude", []byte("{\n  \"mcpServers\": {}\n}\n"))
		if _, err := d.Repair("claude", aiapps.Options{}); !errors.Is(err, aiapps.ErrNotConnected) {
			t.Errorf("repairing what was never connected: %v", err)
		}
		d.do(d.Connect, "claude", aiapps.Options{})
		d.write(path, []byte(left))
		d.want("claude", aiapps.Wiped)
		d.do(d.Repair, "claude", aiapps.Options{})
		d.want("claude", aiapps.Connected)
		d.do(d.Disconnect, "claude", aiapps.Options{})
		d.want("claude", aiapps.NotConnected)
		if got := d.read(path); got != left {
			t.Errorf("disconnected it is %q, it was %q", got, left)
		}
		// Wiped and then disconnected, it is no longer missed.
		d.do(d.Connect, "claude", aiapps.Options{})
		d.write(path, []byte(left))
		d.do(d.Disconnect, "claude", aiapps.Options{})
		d.want("claude", aiapps.NotConnected)
	}
}

// A file that was made for the entry goes with it, even when somebody has changed the entry; not
// with what else is in it.
func TestAFileMadeForTheEntryGoesWithIt(t *testing.T) {
	for _, id := range []string{"claude", "zed", "goose", "continue", "codex"} {
		for add, gone := range map[string]bool{"": true, "# mine\n": false} {
			if add != "" && (id == "claude" || id == "zed") {
				add = "\n" // no comments there
				gone = true
			}
			d := newDesk(t, "linux")
			path := d.path(id)
			d.do(d.Connect, id, aiapps.Options{})
			d.write(path, []byte(strings.ReplaceAll(d.read(path), "/opt/", "/elsewhere/")+add))
			d.do(d.Repair, id, aiapps.Options{})
			d.do(d.Disconnect, id, aiapps.Options{})
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != gone {
				t.Errorf("%s with %q: %v", id, add, err)
			}
		}
	}
}

func TestARunningAppIsToldOf(t *testing.T) {
	home := t.TempDir()
	c := computer("linux", home)
	c.Programs = func() ([]aiapps.Program, error) {
		return []aiapps.Program{{Name: "bash"}, {Name: "claude-desktop"}}, nil
	}
	m := aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: filepath.Join(home, "own")})
	if err := os.MkdirAll(filepath.Join(home, ".config", "Claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	report, err := m.Connect("claude", aiapps.Options{})
	if err != nil || !report.Running || !strings.Contains(report.Next, "tray") {
		t.Errorf("%+v, %v", report, err)
	}
	all, err := m.Status("claude")
	if err != nil || !all[0].Running {
		t.Errorf("%+v, %v", all, err)
	}
}

// Every folder that Claude Desktop may read on Windows gets the entry: from the shop, several
// times, and the older one.
func TestClaudeDesktopOnWindows(t *testing.T) {
	d := newDesk(t, "windows")
	var paths []string
	for _, folder := range []string{
		"AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude", "AppData/Local/Packages/Claude_beta00000000", "AppData/Roaming/Claude",
	} {
		if err := os.MkdirAll(filepath.Join(d.home, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(folder, "Roaming") {
			folder += "/LocalCache/Roaming/Claude"
		}
		paths = append(paths, filepath.Join(d.home, folder, "claude_desktop_config.json"))
	}
	d.write(paths[0], []byte("{\r\n  \"mcpServers\": {}\r\n}\r\n"))
	before := tree(t, d.home)
	report, err := d.Connect("claude", aiapps.Options{})
	if err != nil || len(report.Changes) != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, path := range paths {
		if got := d.read(path); !strings.Contains(got, `"forevervm"`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	d.want("claude", aiapps.Connected)
	// One of them is wiped.
	d.write(paths[2], []byte("{}"))
	d.want("claude", aiapps.Wiped)
	if _, err := d.Repair("claude", aiapps.Options{}); err != nil {
		t.Fatal(err)
	}
	d.want("claude", aiapps.Connected)
	d.write(paths[2], []byte(d.read(paths[1])))
	if _, err := d.Disconnect("claude", aiapps.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[2]); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, d.home); !slices.Equal(before, after) {
		t.Errorf("left is %q, there was %q", after, before)
	}
}

// On each system every app has its place under the user's folders, or where the environment says.
func TestPlacesOnEachSystem(t *testing.T) {
	for _, test := range []struct{ system, id, folder, file string }{
		{"darwin", "claude", "Library/Application Support/Claude", "claude_desktop_config.json"},
		{"darwin", "vscode", "Library/Application Support/Code", "User/mcp.json"},
		{"darwin", "vscode-insiders", "Library/Application Support/Code - Insiders", "User/mcp.json"},
		{"darwin", "zed", ".config/zed", "settings.json"},
		{"darwin", "goose", ".config/goose", "config.yaml"},
		{"darwin", "cline", "Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev", "settings/cline_mcp_settings.json"},
		{"windows", "vscode", "AppData/Roaming/Code", "User/mcp.json"},
		{"windows", "zed", "AppData/Roaming/Zed", "settings.json"},
		{"windows", "goose", "AppData/Roaming/Block/goose", "config/config.yaml"},
		{"windows", "codex", ".codex", "config.toml"},
		{"windows", "claude-code", ".claude", "../.claude.json"},
		{"linux", "lm-studio", ".cache/lm-studio", "mcp.json"},
		{"linux", "cline", ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev", "settings/cline_mcp_settings.json"},
	} {
		d := newDesk(t, test.system)
		if err := os.MkdirAll(filepath.Join(d.home, test.folder), 0o755); err != nil {
			t.Fatal(err)
		}
		change := d.do(d.Connect, test.id, aiapps.Options{})
		if want := filepath.Join(d.home, test.folder, test.file); change.Path != want {
			t.Errorf("%s on %s: %s, want %s", test.id, test.system, change.Path, want)
		}
	}
	for variable, id := range map[string]string{"XDG_CONFIG_HOME": "zed", "CODEX_HOME": "codex", "CLAUDE_CONFIG_DIR": "claude-code"} {
		home, elsewhere := t.TempDir(), t.TempDir()
		if err := os.Mkdir(filepath.Join(elsewhere, "zed"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := computer("linux", home)
		c.Env = func(name string) string {
			if name == variable {
				return elsewhere
			}
			return ""
		}
		m := aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: t.TempDir()})
		report, err := m.Connect(id, aiapps.Options{})
		if err != nil || !strings.HasPrefix(report.Changes[0].Path, elsewhere) {
			t.Errorf("%s: %+v, %v", variable, report, err)
		}
	}
}

// Whatever is in the name of a person's home stands for itself, also where the table has a star.
func TestAHomeWithAStrangeName(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a [b] *")
	if err := os.MkdirAll(filepath.Join(home, "AppData/Local/Packages/Claude_x"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := aiapps.New(aiapps.Config{Computer: computer("windows", home), Server: server, Folder: t.TempDir()})
	report, err := m.Connect("claude", aiapps.Options{})
	if err != nil || len(report.Changes) != 1 || !strings.HasPrefix(report.Changes[0].Path, home) {
		t.Errorf("%+v, %v", report, err)
	}
}

// Claude Code's program is no Claude Desktop, whose name it has on Windows.
func TestClaudeCodeIsNotClaudeDesktop(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "AppData/Roaming/Claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, desktop := range map[string]bool{
		`C:\Users\a\.local\bin\claude.exe`: false, `C:\Users\a\AppData\Local\AnthropicClaude\app-1.2\claude.exe`: true,
		`C:\Program Files\WindowsApps\Claude_1.2_x64__pzs8sxrjxfjjc\app\Claude.exe`: true, "": false,
	} {
		c := computer("windows", home)
		c.Programs = func() ([]aiapps.Program, error) { return []aiapps.Program{{Name: "claude.exe", Path: path}}, nil }
		all, err := aiapps.New(aiapps.Config{Computer: c, Server: server, Folder: t.TempDir()}).Status("claude")
		if err != nil || all[0].Running != desktop {
			t.Errorf("%s: %+v, %v", path, all, err)
		}
	}
}

func TestClientsAreRecognised(t *testing.T) {
	for name, id := range map[string]string{
		"claude-ai": "claude", "Claude Desktop": "claude", "claude-code": "claude-code", "Visual Studio Code": "vscode",
		"Visual Studio Code - Insiders": "vscode-insiders", "codex-mcp-client": "codex", "Zed": "zed", "goose-desktop": "goose",
		"gemini-cli-mcp-client": "gemini", "Cline": "cline", "cursor-vscode": "cursor", "windsurf-client": "windsurf",
	} {
		for _, app := range aiapps.Apps {
			if app.IsClient(name) != (app.ID == id) {
				t.Errorf("%s as %s: %v", name, app.ID, app.IsClient(name))
			}
		}
	}
}

func TestBackups(t *testing.T) {
	d := newDesk(t, "linux")
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	d.Manager = aiapps.New(aiapps.Config{Computer: computer("linux", d.home), Server: server, Folder: d.folder, Now: func() time.Time {
		at = at.Add(time.Second)
		return at
	}})
	first := `{"mcpServers":{"secret":{"command":"x","env":{"K":"1"}}}}`
	path := d.file("claude", []byte(first))
	for i := range 5 {
		d.do(d.Connect, "claude", aiapps.Options{})
		d.do(d.Disconnect, "claude", aiapps.Options{})
		if i < 4 {
			d.write(path, []byte(strings.Repeat(" ", i+1)+first))
		}
	}
	backups, err := d.Backups("claude")
	if err != nil || len(backups) != 5 {
		t.Fatalf("%d backups, %v", len(backups), err)
	}
	if !slices.IsSortedFunc(backups, func(a, b aiapps.Backup) int { return b.At.Compare(a.At) }) {
		t.Errorf("not newest first: %+v", backups)
	}
	err = filepath.WalkDir(d.folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.write(path, []byte("rubbish"))
	report, err := d.Restore("claude", backups[1].ID)
	if err != nil || report.Changes[0].Action != aiapps.Restored || strings.Contains(report.Changes[0].Difference, "secret\": {\"c") {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := d.read(path); got != strings.Repeat(" ", 4)+first {
		t.Errorf("restored is %q", got)
	}
	if backups, err = d.Backups("claude"); err != nil || len(backups) != 5 || backups[0].Size != int64(len("rubbish")) {
		t.Errorf("what was there is not backed up: %+v, %v", backups, err)
	}
	for _, id := range []string{"", "x", "../../x-20260101T000000.000000000Z", backups[0].ID + "0"} {
		if _, err := d.Restore("claude", id); !errors.Is(err, aiapps.ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if backups, err := d.Backups("zed"); err != nil || len(backups) != 0 {
		t.Errorf("%+v, %v", backups, err)
	}
}

func TestUnknownApps(t *testing.T) {
	d := newDesk(t, "linux")
	if _, err := d.Connect("clod", aiapps.Options{}); !errors.Is(err, aiapps.ErrUnknown) || !strings.Contains(err.Error(), "claude-code") {
		t.Error(err)
	}
}

// What another program writes between our reading and our writing is not lost: all is done again on
// what it has written.
func TestAnEditWhileConnecting(t *testing.T) {
	for _, test := range []struct {
		edits int
		state aiapps.State
		says  string
	}{{1, aiapps.Connected, ""}, {1000, aiapps.NotConnected, "Claude Desktop keeps writing to "}} {
		d := newDesk(t, "linux")
		path := d.file("claude", []byte("{}"))
		edits := 0
		edit := func() string { return fmt.Sprintf(`{"theirs": %d}`, edits) }
		d.Manager = aiapps.New(aiapps.Config{Computer: computer("linux", d.home), Server: server, Folder: d.folder, Now: func() time.Time {
			if edits < test.edits { // the file was read, and is not written yet
				edits++
				d.write(path, []byte(edit()))
			}
			return time.Now()
		}})
		_, err := d.Connect("claude", aiapps.Options{})
		if test.says == "" && err != nil || test.says != "" && (!errors.Is(err, aiapps.ErrFile) || !strings.Contains(err.Error(), test.says+path)) {
			t.Errorf("after %d edits: %v", edits, err)
		}
		d.want("claude", test.state)
		if _, err := d.Disconnect("claude", aiapps.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := d.read(path); got != edit() {
			t.Errorf("after %d edits it is %s", edits, got)
		}
	}
}

// A file of the person's own that the app's place links to is changed there, and the link stays.
func TestThroughASymbolicLink(t *testing.T) {
	const before = "{\n\t\"mcpServers\": {}\n}"
	d := newDesk(t, "linux")
	path, real := d.path("claude"), filepath.Join(t.TempDir(), "dotfiles.json")
	d.write(real, []byte(before))
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	d.do(d.Connect, "claude", aiapps.Options{})
	d.want("claude", aiapps.Connected)
	if got := d.read(real); !strings.Contains(got, server.Program) {
		t.Errorf("it is %s", got)
	}
	d.do(d.Disconnect, "claude", aiapps.Options{})
	if to, err := os.Readlink(path); err != nil || to != real || d.read(real) != before {
		t.Errorf("it leads to %q, %v, where there is\n%s", to, err, d.read(real))
	}
}

// A state file that has grown for years.
func TestAHugeFile(t *testing.T) {
	var projects []string
	for i := range 5_000 {
		projects = append(projects, fmt.Sprintf("    \"/home/ann/src/%d\": {\n      \"history\": [{ \"display\": \"what does { mean? \\u00e4\" }],\n      \"mcpServers\": {}\n    }", i))
	}
	data := "{\n  \"projects\": {\n" + strings.Join(projects, ",\n") + "\n  },\n  \"mcpServers\": { \"other\": { \"command\": \"y\" } }\n}\n"
	d := newDesk(t, "linux")
	path := d.file("claude-code", []byte(data))
	d.do(d.Connect, "claude-code", aiapps.Options{})
	d.want("claude-code", aiapps.Connected)
	d.do(d.Disconnect, "claude-code", aiapps.Options{})
	if d.read(path) != data {
		t.Error("it is not what it was")
	}
}

func TestChatGPTIsFoundByItsName(t *testing.T) {
	if app, ok := aiapps.Find("chatgpt"); !ok || app.ID != "codex" {
		t.Errorf("%+v", app)
	}
	if app, ok := aiapps.Find(""); ok {
		t.Errorf("no name is %+v", app)
	}
}
