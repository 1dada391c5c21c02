//go:build linux && real

package daemon_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/exchange"
)

// hostile is code that writes two repositories into a folder, one of them bare. git runs a program
// at each `git status` in either, which leaves a mark.
func hostile(folder, mark string) string {
	return fmt.Sprintf(`import os
for repo in (".git", "data"):
    at = os.path.join(%q, repo)
    for part in ("objects/info", "refs/heads"):
        os.makedirs(os.path.join(at, part), exist_ok=True)
    open(os.path.join(at, "objects/info/packs"), "w").write("\n")
    open(os.path.join(at, "refs/heads/x"), "w").write("")
    open(os.path.join(at, "config"), "w").write('[core]\nworktree = ".."\nfsmonitor = "echo > %s; true"\n')
    open(os.path.join(at, "HEAD"), "w").write("ref: refs/heads/main\n")
`, folder, mark)
}

// gitStatus runs `git status` in a folder and all below it.
func gitStatus(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			cmd := exec.CommandContext(t.Context(), "git", "status")
			cmd.Dir = at
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
			_ = cmd.Run() // it fails where there is no repository
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What code leaves in the outbox starts no program of the person's, and they are told what it
// keeps.
func TestResultsAreInert(t *testing.T) {
	c := newSpecCaller(t, sharedDaemon(t))
	folder := as[api.Status](c, c.send("GET", "/api/status", nil)).Folder
	mark := filepath.Join(t.TempDir(), "ran")
	name := c.machine()
	if in := c.run(name, hostile("/root/outbox", mark)+"open('/root/outbox/report.txt', 'w').write('fine')"); in.Error != "" {
		t.Fatal(in.Error)
	}
	results := filepath.Join(folder, exchange.Results, name)
	until(t, "the results to land", func() bool {
		report, _ := os.ReadFile(filepath.Join(results, "report.txt"))
		return string(report) == "fine"
	})
	until(t, "the person to be told", func() bool {
		notice := c.run(name, "1").Notice
		return strings.Contains(notice, `".git"`) && strings.Contains(notice, `"data/HEAD"`)
	})
	gitStatus(t, results)
	if _, err := os.Stat(mark); err == nil {
		t.Error("git ran what code wrote")
	}
	if in := c.run(name, "import os; os.path.exists('/root/outbox/.git/config')"); in.Value == nil || *in.Value != "True" {
		t.Errorf("what was refused is gone: %+v", in)
	}
}

// What code leaves in a shared folder that programs act on is told to the person.
func TestASharedFolderIsWatched(t *testing.T) {
	c := newSpecCaller(t, sharedDaemon(t))
	name, folder := c.machine(), t.TempDir()
	c.send("PUT", "/api/machines/"+name+"/shared", api.SharedFolder{Path: folder, Writable: true})
	if in := c.run(name, hostile("/mnt/shared", filepath.Join(t.TempDir(), "ran"))); in.Error != "" {
		t.Fatal(in.Error)
	}
	until(t, "the header to tell", func() bool {
		m := as[api.Machine](c, c.send("GET", "/api/machines/"+name, nil))
		return m.Shared != nil && strings.Contains(m.Shared.Problem, `".git"`) && strings.Contains(m.Shared.Problem, `"data"`)
	})
	if notice := c.run(name, "1").Notice; !strings.Contains(notice, `".git"`) {
		t.Errorf("the next result tells %q", notice)
	}
	c.send("DELETE", "/api/machines/"+name+"/shared", nil)
}
