package exchange_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/exchange"
	"github.com/forevervm/desktop/backend/machine"
)

const name = "brave-otter-42"

func (w *world) results() string { return filepath.Join(w.path, exchange.Results, name) }

func (w *world) put(name, content string) {
	w.Helper()
	w.write(w.in.at(path.Join(exchange.Outbox, name)), content)
}

// git runs git without any configuration in a folder, and returns what it says.
func (w *world) git(dir string, args ...string) (string, error) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(w.path))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal("git is needed:", err)
	}
	return string(out), err
}

// git starts no program that code put into its outbox, wherever in the folder the person runs it.
func TestGitRunsNothingThatCodeWrote(t *testing.T) {
	config := func(mark string) string {
		return "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = \"echo > '" + mark + "'; true\"\n"
	}
	const head = "ref: refs/heads/main\n"
	layout := func(at, mark string) []string {
		return []string{path.Join(at, "HEAD"), head, path.Join(at, "objects/info/packs"), "\n", path.Join(at, "refs/heads/x"), "", path.Join(at, "config"), config(mark)}
	}
	for what, write := range map[string]func(mark string) []string{
		"a repository":          func(mark string) []string { return layout(".git", mark) },
		"one below":             func(mark string) []string { return layout("data/.git", mark) },
		"in other letters":      func(mark string) []string { return layout(".GIT", mark) },
		"a bare one":            func(mark string) []string { return layout("data", mark) },
		"a bare one at the top": func(mark string) []string { return layout("", mark) },
		"one with its parts apart": func(mark string) []string {
			return append(layout("other", mark)[2:], "data/HEAD", head, "data/commondir", "../other\n")
		},
		"a file that leads to one": func(mark string) []string { return append(layout("data", mark), "sub/.git", "gitdir: ../data\n") },
	} {
		for _, bit := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				w := newWorld(t)
				mark := filepath.Join(t.TempDir(), "ran")
				w.put("report.txt", "fine")
				files := write(filepath.ToSlash(mark))
				told := ""
				for i := 0; i < len(files); i += 2 {
					w.put(files[i], files[i+1])
					if bit { // by bit, each in a copy of its own
						told += w.collect()
					}
				}
				told += w.collect()
				err := filepath.WalkDir(w.path, func(at string, e fs.DirEntry, err error) error {
					if err == nil && e.IsDir() {
						_, _ = w.git(at, "status")
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(mark); err == nil {
					t.Error("git ran what code wrote")
				}
				if !strings.Contains(told, "git") || !strings.Contains(told, "other names") {
					t.Errorf("the person is told %q", told)
				}
				for i := 0; i < len(files); i += 2 {
					if _, err := os.Stat(w.in.at(path.Join(exchange.Outbox, files[i]))); err != nil {
						t.Error("it is not in the machine any more:", err)
					}
				}
			})
		}
	}
}

// git ends in a machine's results and below, and works above, also for who keeps documents in git.
func TestGitEndsInResults(t *testing.T) {
	w := newWorld(t)
	w.put("data/report.txt", "fine")
	w.collect()
	if out, err := w.git(w.path, "init", "--quiet"); err != nil {
		t.Fatal(out)
	}
	for _, dir := range []string{w.results(), filepath.Join(w.results(), "data")} {
		if out, err := w.git(dir, "status"); err == nil || !strings.Contains(out, "invalid gitfile format") {
			t.Errorf("in %s git says %s", dir, out)
		}
	}
	for _, dir := range []string{w.path, filepath.Join(w.path, exchange.Results)} {
		if out, err := w.git(dir, "status"); err != nil {
			t.Errorf("in %s git says %s", dir, out)
		}
	}
	if out, err := w.git(w.path, "add", "--all"); err != nil {
		t.Error(out)
	}
	if out, _ := w.git(w.path, "ls-files"); strings.TrimSpace(out) != "Results/"+name+"/data/report.txt" {
		t.Errorf("git has %q", out)
	}
	// What the person has there instead stays.
	if err := os.Remove(filepath.Join(w.results(), ".git")); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.results(), ".git", "mine"), "mine")
	w.put("second.txt", "2")
	w.collect()
	w.has(w.results(), ".git/mine=mine", "data/report.txt=fine", "second.txt=2")
}

func TestNamesThatComeOut(t *testing.T) {
	for _, ok := range []string{
		"report.csv", "a b/c (2).tar.gz", "year/2024-01-01/data.parquet", "Ünïcödé/日本語.txt", "مرحبا.txt", "می\u200cخواهم.txt", "family 👨\u200d👩\u200d👧.png",
		"$(id).txt", "a~b.txt", "data~1~", "notes.txt~", "HEAD/scan.nii", "head.txt", "config", "objects/x", "refs/y", "readme.md", "Makefile",
		"folder.jpg", "link.lnk.txt", "git", "dotted.name.here",
	} {
		if told := comesOut(t, ok); told != "" {
			t.Errorf("%q does not come out: %s", ok, told)
		}
	}
	for why, names := range map[string][]string{
		"git ":               {".git", ".git/config", "a/.GIT/config", ".g\u200cit/config", ".git\u200b", "\u2060.git/x", "．git/x", ".git ", ".git.", ".git::$INDEX_ALLOCATION/config", "HEAD", "a/head", "a/Head."},
		"Mercurial":          {".hg/hgrc", "a/.Hg/hgrc"},
		"editors":            {".vscode/tasks.json", "a/.idea/workspace.xml", ".nvim.lua", ".dir-locals.el"},
		"shells":             {".envrc", "a/.EnvRC", "mise.toml"},
		"AI apps":            {"CLAUDE.md", "a/AGENTS.md", "agent\u017f.md", ".mcp.json", ".claude/settings.json"},
		"Windows acts":       {"desktop.ini", "a/Desktop.ini", "desktop.ini:x", "report.lnk", "a.URL", "x.scf", "docs.library-ms", "x.searchConnector-ms", "x.theme", "docs.{20D04FE0-3AEA-1069-A2D8-08002B30309D}/x"},
		"stick":              {"autorun.inf", "Autorun", "autorun.sh"},
		"file managers":      {"report.desktop"},
		"begin with a dot":   {".hidden", "a/.hidden/b", ".DS_Store", ".directory", ".bashrc", "\u00ad.x"},
		"begin with -":       {"-rf", "a/-n/b", "--help.txt"},
		"nobody sees":        {"a\u202egnp.exe", "a\u2066b", "a\u200fb", "a\u061cb", "a\nb", "a\x1b[31mb", "a\u0085b", "a\u2028b", "a\u2029b", "\x7f", "line\rfeed/x"},
		"not every computer": {"GIT~1/config", "git~1", "AUTORU~1.INF", "a.", "a ", "a./b"},
		"files of their own": {"a.part", "b.crdownload", "~$a.xlsx", "thumbs.db"},
	} {
		for _, name := range names {
			if told := comesOut(t, name); !strings.Contains(told, why) {
				t.Errorf("%q should be refused with %q, and is with %q", name, why, told)
			}
		}
	}
}

// comesOut returns what the person is told of a file of that name in an outbox. It comes out
// exactly if they are told nothing.
func comesOut(t *testing.T, name string) string {
	t.Helper()
	w := newWorld(t)
	if err := os.MkdirAll(w.in.at(exchange.Outbox), 0o700); err != nil {
		t.Fatal(err)
	}
	in := &named{inside: w.in, name: name}
	told, err := w.folder.Collect(t.Context(), machine.Machine{ID: id, Name: "m"}, in)
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	n := 0
	_ = filepath.WalkDir(filepath.Join(w.path, exchange.Results, "m"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != ".git" {
			n++
		}
		return nil
	})
	if (n == 1) != (told == "") {
		t.Errorf("of %q %d files came out, and %q is told", name, n, told)
	}
	return told
}

// named is a machine whose outbox holds one file, under a name that this computer may not allow.
type named struct {
	*inside
	name string
}

func (in *named) StatFile(_ context.Context, at string) (machine.FileEntry, error) {
	if at == exchange.Outbox {
		return machine.FileEntry{Kind: machine.FileFolder}, nil
	}
	return machine.FileEntry{Kind: machine.FilePlain, Size: 1, Modified: time.Unix(1, 0)}, nil
}

func (in *named) ListFiles(_ context.Context, at string, _ int) (machine.FileList, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(path.Join(exchange.Outbox, in.name), at), "/")
	first, _, more := strings.Cut(rest, "/")
	e := machine.FileEntry{Name: first, Kind: machine.FilePlain, Size: 1, Modified: time.Unix(1, 0)}
	if more {
		e.Kind = machine.FileFolder
	}
	return machine.FileList{Entries: []machine.FileEntry{e}}, nil
}

func (in *named) ReadFile(context.Context, string, int64, int) (machine.FileChunk, error) {
	return machine.FileChunk{Data: []byte("x"), Size: 1, EOF: true}, nil
}

// A refused folder is told as one, and does not use up the room for other files.
func TestARefusedFolderIsToldOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 5000 {
		w.in.names[path.Join(exchange.Outbox, ".git")] = append(w.in.names[path.Join(exchange.Outbox, ".git")], machine.FileEntry{Name: string(rune('a' + i)), Kind: machine.FilePlain})
	}
	w.put(".git/HEAD", "")
	w.put("report.txt", "fine")
	if told := w.collect(); strings.Count(told, `"`) != 2 || !strings.Contains(told, `".git"`) {
		t.Error(told)
	}
	w.has(w.results(), "report.txt=fine")
}

// What an earlier version has brought is told, once.
func TestWhatAnEarlierVersionBroughtIsTold(t *testing.T) {
	w := newWorld(t)
	w.put("report.txt", "fine")
	w.put(".git/config", "[core]")
	w.write(filepath.Join(w.notes, string(id)+".json"), `{"brought": {".git/config": {"name": ".git/config"}, "report.txt": {"name": "report.txt"}}}`)
	w.open()
	if told := w.collect(); !strings.Contains(told, "earlier version") || !strings.Contains(told, `".git/config"`) {
		t.Error(told)
	}
	if told := w.collect(); strings.Contains(told, "earlier version") {
		t.Error("again:", told)
	}
}

func TestResultsCannotBeRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows tells programs by their names")
	}
	w := newWorld(t)
	w.put("run.sh", "#!/bin/sh\necho > ran\n")
	if err := os.Chmod(w.in.at(path.Join(exchange.Outbox, "run.sh")), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second takes the first one's place
		w.collect()
		info, err := os.Stat(filepath.Join(w.results(), "run.sh"))
		if err != nil || info.Mode().Perm()&0o111 != 0 {
			t.Errorf("it is %v, %v", info.Mode(), err)
		}
		w.put("run.sh", "#!/bin/sh\necho > ran again\n")
	}
}

func TestHardLinksAreNotFollowed(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	w.write(secret, "TOPSECRET")
	w.write(filepath.Join(w.path, "a.csv"), "1")
	if err := os.Link(secret, filepath.Join(w.path, "deep.csv")); err != nil {
		t.Skip("there are no hard links here:", err)
	}
	told := w.fill()
	w.has(w.in.at(exchange.Inbox), "a.csv=1")
	if !strings.Contains(told, `"deep.csv"`) || !strings.Contains(told, "hard link") || !strings.Contains(told, "copy") {
		t.Errorf("the person is told %q", told)
	}
	// As soon as it has one name, it comes.
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	if told := w.fill(); told != "" {
		t.Error(told)
	}
	w.has(w.in.at(exchange.Inbox), "a.csv=1", "deep.csv=TOPSECRET")
}
