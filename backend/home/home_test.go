package home_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/home"
)

func resolve(t *testing.T) home.Dirs {
	t.Helper()
	dirs, err := home.Resolve(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func TestEverythingLiesUnderTheOverride(t *testing.T) {
	root := t.TempDir()
	t.Setenv(home.Variable, filepath.Join(root, "from-environment"))
	fromEnvironment, err := home.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	override, err := home.Resolve(filepath.Join(root, "from-flag"))
	if err != nil {
		t.Fatal(err)
	}
	for folder, dirs := range map[string]home.Dirs{"from-environment": fromEnvironment, "from-flag": override} {
		for _, path := range []string{
			dirs.OwnerTokenFile(), dirs.TokenFile(), dirs.TokensFile(), dirs.PeopleFile(), dirs.RecordFile(), dirs.SettingsFile(), dirs.DaemonFile(), dirs.LockFile(), dirs.LogFile(),
			dirs.DatabaseFile(), dirs.MachinesDir(),
		} {
			if !strings.HasPrefix(path, filepath.Join(root, folder)+string(filepath.Separator)) {
				t.Errorf("%s is not under %s", path, folder)
			}
		}
	}
}

func TestTheUsualPlacesNeedNoOverride(t *testing.T) {
	t.Setenv(home.Variable, "")
	dirs, err := home.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dirs.Config, dirs.Data, dirs.Run} {
		if !filepath.IsAbs(path) || !strings.Contains(strings.ToLower(path), "forevervm") {
			t.Errorf("%q is no place for our files", path)
		}
	}
}

func TestFoldersAreForTheUserAlone(t *testing.T) {
	dirs := resolve(t)
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return // there the rights come with LocalAppData
	}
	for _, dir := range []string{dirs.Root, dirs.Config, dirs.Data, dirs.Run} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v", dir, info.Mode().Perm())
		}
	}
	if err := os.Chmod(dirs.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a folder that others may write to was taken: %v", err)
	}
}

func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there the rights come with LocalAppData
	}
	theirs := "/" // root's, who is another user
	if os.Geteuid() == 0 {
		theirs = t.TempDir()
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	dirs := home.Dirs{Root: theirs, Config: theirs, Data: theirs, Usual: theirs, Run: theirs}
	if err := dirs.Make(); err == nil || !strings.Contains(err.Error(), "another user") || !strings.Contains(err.Error(), theirs) {
		t.Errorf("a folder that another user owns was taken: %v", err)
	}
}

func TestTheTokenIsMadeOnce(t *testing.T) {
	dirs := resolve(t)
	if _, err := dirs.ReadOwnerToken(); !errors.Is(err, home.ErrNoToken) {
		t.Fatalf("without a token: %v", err)
	}
	tokens := make([]string, 20)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			token, err := dirs.EnsureOwnerToken(t.Context())
			if err != nil {
				t.Error(err)
			}
			tokens[i] = token
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] {
			t.Fatal("two processes made different tokens")
		}
	}
	id, secret, ok := strings.Cut(tokens[0], ".")
	if !ok || id == "" || len(secret) < 32 || strings.Contains(secret, ".") {
		t.Errorf("%q is not id.secret", tokens[0])
	}
	read, err := dirs.ReadOwnerToken()
	if err != nil || read != tokens[0] {
		t.Errorf("read %q, %v", read, err)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(dirs.OwnerTokenFile())
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the token's file has mode %v", info.Mode().Perm())
		}
	}
}

// A token that other users may read, say since it was copied, is theirs to read no longer.
func TestTheTokenIsTakenFromOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights come with the folder there")
	}
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before, err := dirs.EnsureOwnerToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dirs.OwnerTokenFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := dirs.EnsureOwnerToken(t.Context())
	info, statErr := os.Stat(dirs.OwnerTokenFile())
	if err != nil || statErr != nil || after != before || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, %v", info.Mode().Perm(), err, statErr)
	}
}

func TestADamagedTokenIsToldAndKept(t *testing.T) {
	dirs := resolve(t)
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dirs.OwnerTokenFile(), []byte("oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.EnsureOwnerToken(t.Context()); err == nil || !strings.Contains(err.Error(), dirs.OwnerTokenFile()) {
		t.Errorf("a damaged token: %v", err)
	}
}

func TestDaemonFile(t *testing.T) {
	dirs := resolve(t)
	if _, err := dirs.ReadDaemon(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a daemon: %v", err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	first := home.Daemon{URL: "http://127.0.0.1:1", PID: 1, Version: "1.0", StartedAt: time.Unix(1, 0).UTC()}
	second := home.Daemon{URL: "http://127.0.0.1:2", PID: 2, Version: "1.1", StartedAt: time.Unix(2, 0).UTC()}
	if err := dirs.WriteDaemon(first); err != nil {
		t.Fatal(err)
	}
	if err := dirs.WriteDaemon(second); err != nil {
		t.Fatal(err)
	}
	if err := dirs.RemoveDaemon(first); err != nil {
		t.Fatal(err)
	}
	if got, err := dirs.ReadDaemon(); err != nil || got != second {
		t.Errorf("after the first daemon left: %+v, %v", got, err)
	}
	if err := dirs.RemoveDaemon(second); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.ReadDaemon(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after both left: %v", err)
	}
	if err := os.WriteFile(dirs.DaemonFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dirs.ReadDaemon(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged file must count as none: %v", err)
	}
}

func TestSettings(t *testing.T) {
	dirs := resolve(t)
	if got, err := dirs.ReadSettings(); err != nil || len(got) != 0 || got.Port() != 0 {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dirs.SettingsFile(), []byte(`{"port": 1, "from_the_future": {"a": [1, "b"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := dirs.ReadSettings()
	if err != nil || settings.Port() != 1 {
		t.Fatalf("%+v, %v", settings, err)
	}
	settings.SetPort(4711)
	if err := dirs.WriteSettings(settings); err != nil {
		t.Fatal(err)
	}
	var future struct {
		A []any `json:"a"`
	}
	if settings, err = dirs.ReadSettings(); err != nil || settings.Port() != 4711 || json.Unmarshal(settings["from_the_future"], &future) != nil || len(future.A) != 2 {
		t.Errorf("%s, %v", settings["from_the_future"], err)
	}
	for text, port := range map[string]int{`{"port": 700000}`: 0, `{"port": "x"}`: 0, `{"port": 80}`: 80} {
		if err := os.WriteFile(dirs.SettingsFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := dirs.ReadSettings(); err != nil || got.Port() != port {
			t.Errorf("%s: port %d, %v", text, got.Port(), err)
		}
	}
	for _, damaged := range []string{"{", "null", "[]", ""} {
		if err := os.WriteFile(dirs.SettingsFile(), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := dirs.ReadSettings()
		if err == nil || !strings.Contains(err.Error(), dirs.SettingsFile()) || got == nil || len(got) != 0 {
			t.Errorf("%q: %+v, %v", damaged, got, err)
		}
	}
}

// What apps are told to start leads to the program that ran last, wherever that is.
func TestTheLauncherFollowsTheProgram(t *testing.T) {
	dirs := resolve(t)
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if program := dirs.Program(); program != "" {
		t.Errorf("%s ran here, before anything did", program)
	}
	var link string
	for _, name := range []string{"old", "new", "new"} {
		program := filepath.Join(folder, name)
		if err := os.WriteFile(program, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := dirs.PointLauncher(program); err != nil {
			t.Fatal(err)
		}
		path := dirs.Launcher(program)
		if link != "" && path != link && runtime.GOOS == "linux" {
			t.Errorf("the launcher moved from %s to %s", link, path)
		}
		link = path
		for _, path := range []string{link, dirs.Program()} {
			if got, err := os.ReadFile(path); err != nil || string(got) != name {
				t.Errorf("%s is %q, %v; want %q", path, got, err, name)
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(link)); err != nil || runtime.GOOS == "linux" && len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(folder, "new")); err != nil {
		t.Fatal(err)
	}
	if program := dirs.Program(); program != "" {
		t.Errorf("%s is gone", program)
	}
}

// Removing takes everything of ours, and nothing of others.
func TestRemove(t *testing.T) {
	dirs, elsewhere := resolve(t), t.TempDir()
	for _, keep := range []bool{false, true} {
		machine := filepath.Join(dirs.MachinesDir(), "m", "files")
		if err := os.MkdirAll(machine, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(machine, "x"), filepath.Join(elsewhere, "y")} {
			if err := os.WriteFile(path, []byte("x"), 0o400); err != nil && !errors.Is(err, os.ErrPermission) {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(elsewhere, filepath.Join(machine, "link")); err != nil {
			t.Log("Windows lets only some make links:", err)
		}
		if _, err := dirs.EnsureOwnerToken(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := dirs.WriteSettings(home.Settings{}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dirs.AccountsFile(), dirs.WindowFile()} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		theirs := filepath.Join(dirs.Config, "config.json")
		if keep {
			if err := os.WriteFile(theirs, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := dirs.Remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(theirs); keep != (err == nil) {
			t.Errorf("a file of another program: %v", err)
		}
		if _, err := os.Stat(dirs.Root); keep != (err == nil) {
			t.Errorf("the folder: %v", err)
		}
		for path, want := range map[string]bool{dirs.Data: false, filepath.Join(elsewhere, "y"): true} {
			if _, err := os.Stat(path); want != (err == nil) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
