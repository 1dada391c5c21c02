package exchange_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/exchange"
)

// share is a folder that a machine may change, and who watches it.
type share struct {
	*testing.T
	shares       *exchange.Shares
	folder, note string
}

func newShare(t *testing.T) *share {
	s := &share{T: t, folder: t.TempDir(), note: t.TempDir()}
	s.open()
	return s
}

// open is what a new daemon does.
func (s *share) open() {
	s.Helper()
	shares, err := exchange.NewShares(s.note, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	s.shares = shares
}

func (s *share) put(files ...string) {
	s.Helper()
	for _, file := range files {
		name, content, _ := strings.Cut(file, "=")
		at := filepath.Join(s.folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *share) look(last bool) (news, all string) {
	s.Helper()
	news, all, err := s.shares.Look(s.Context(), id, s.folder, last)
	if err != nil {
		s.Fatal(err)
	}
	return news, all
}

// told looks, and compares which files are news.
func (s *share) told(want ...string) {
	s.Helper()
	news, all := s.look(false)
	if n := strings.Count(news, `"`) / 2; n != len(want) {
		s.Errorf("%d files are told, not %q: %s", n, want, news)
	}
	for _, name := range want {
		if !strings.Contains(news, fmt.Sprintf("%q", name)) || !strings.Contains(all, fmt.Sprintf("%q", name)) {
			s.Errorf("%q is not told in %q, or not in %q", name, news, all)
		}
	}
}

const repository = ".git/HEAD=ref: refs/heads/main|.git/objects/info/packs=|.git/refs/heads/x=|.git/config=[core]|.git/hooks/pre-commit.sample=echo"

func TestWhatComesUpInASharedFolderIsTold(t *testing.T) {
	for what, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"a repository":                    {"report.txt=", repository, []string{".git"}},
		"its settings":                    {repository, ".git/config=[core] fsmonitor = id", []string{".git/config"}},
		"a hook":                          {repository, ".git/hooks/pre-commit=id", []string{".git/hooks/pre-commit"}},
		"the settings of a submodule":     {repository + "|.git/modules/a/b/HEAD=|.git/modules/a/b/commondir=..|.git/modules/a/b/config=", ".git/modules/a/b/config=id", []string{".git/modules/a/b/config"}},
		"what git changes on its own":     {repository, ".git/HEAD=other|.git/refs/heads/x=1|.git/objects/ab/cd=x|.git/index=x|.git/logs/HEAD=x|.git/hooks/x.sample=", nil},
		"a bare repository":               {"data/x=", "data/HEAD=|data/objects/x=|data/refs/x=|data/config=", []string{"data"}},
		"the last part of one":            {"data/objects/x=|data/refs/x=|data/config=id", "data/HEAD=", []string{"data", "data/config"}[:1]},
		"one with its parts apart":        {"data/objects/x=|data/refs/x=", "sub/HEAD=|sub/commondir=../data", []string{"sub"}},
		"a file that leads to one":        {"x=", "sub/.git=gitdir: ../x", []string{"sub/.git"}},
		"a task of an editor":             {".vscode/settings.json={}", ".vscode/tasks.json={}", []string{".vscode/tasks.json"}},
		"an editor's own work":            {".idea/workspace.xml=1", ".idea/workspace.xml=2|.idea/shelf/x=", nil},
		"a command of an editor":          {".idea/workspace.xml=1", ".idea/watcherTasks.xml=|.idea/runConfigurations/x.xml=", []string{".idea/watcherTasks.xml", ".idea/runConfigurations/x.xml"}},
		"a file for shells":               {"x=", "deep/er/.envrc=id", []string{"deep/er/.envrc"}},
		"instructions for AI apps":        {"CLAUDE.md=be nice", "CLAUDE.md=be evil", []string{"CLAUDE.md"}},
		"what Windows acts on":            {"x=", "desktop.ini=|a.lnk=", []string{"desktop.ini", "a.lnk"}},
		"other files, hidden ones, too":   {"x=", "x=2|y=|.env=|.DS_Store=|.ipynb_checkpoints/x=|HEAD=|config=|hooks/x=", nil},
		"what the person had from before": {repository + "|.vscode/tasks.json=", "x=", nil},
	} {
		t.Run(what, func(t *testing.T) {
			s := newShare(t)
			s.put(strings.Split(c.before, "|")...)
			s.told()
			s.put(strings.Split(c.after, "|")...)
			s.told(c.want...)
			s.told() // once
		})
	}
}

// Only what comes up while the machine may change the folder is told, also when the daemon died
// meanwhile.
func TestASharedFolderIsWatchedWhileAMachineMayChangeIt(t *testing.T) {
	s := newShare(t)
	s.told()
	s.put(".envrc=1")
	if news, _ := s.look(true); !strings.Contains(news, ".envrc") {
		t.Errorf("at the end there is told %q", news)
	}
	s.put(".vscode/tasks.json=the person's own")
	if news, all := s.look(false); news != "" || !strings.Contains(all, ".envrc") {
		t.Errorf("there is told %q, and in all %q", news, all)
	}
	s.put(".envrc=2")
	s.open()
	s.told(".envrc")
	// To share it again is to have seen it.
	s.shares.Forget(id)
	if news, all := s.look(false); news != "" || all != "" {
		t.Errorf("there is told %q, and in all %q", news, all)
	}
	// A disk that is not connected for a while has not lost and found everything.
	if err := os.Rename(s.folder, s.folder+"-away"); err != nil {
		t.Fatal(err)
	}
	s.told()
	if err := os.Rename(s.folder+"-away", s.folder); err != nil {
		t.Fatal(err)
	}
	s.told()
	s.put("sub/.envrc=")
	s.told("sub/.envrc")
}

func TestLinksInASharedFolderAreNotFollowed(t *testing.T) {
	s := newShare(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, ".envrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.told()
	for name, target := range map[string]string{"link": outside, ".git": "data", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(s.folder, name)); err != nil {
			t.Skip("there are no links here:", err)
		}
	}
	s.told(".git")
	if err := os.Remove(filepath.Join(s.folder, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(s.folder, ".git")); err != nil {
		t.Fatal(err)
	}
	s.told(".git")
}

// Nobody hides something behind a mass of files without that being told.
func TestASharedFolderThatIsTooLargeIsTold(t *testing.T) {
	s := newShare(t)
	s.told()
	deep := s.folder
	for range 40 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if news, _ := s.look(false); !strings.Contains(news, "too large") {
		t.Errorf("there is told %q", news)
	}
	s.told()

	s = newShare(t)
	for i := range 65 {
		s.put(fmt.Sprintf("%d/.envrc=", i))
		if err := os.Truncate(filepath.Join(s.folder, strconv.Itoa(i), ".envrc"), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if news, _ := s.look(false); !strings.Contains(news, "too large") {
		t.Errorf("there is told %q", news)
	}
}
