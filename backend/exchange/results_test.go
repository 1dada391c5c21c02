package exchange_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// brings writes a file into the outbox and returns the name of the folder that it came to.
func (w *world) brings(m machine.Machine, file string) string {
	w.Helper()
	w.write(w.in.at("root/outbox/"+file), file)
	if _, err := w.folder.Collect(w.Context(), m, w.in); err != nil {
		w.Fatal(err)
	}
	path := w.folder.Results(m)
	if data, err := os.ReadFile(filepath.Join(path, file)); err != nil || string(data) != file {
		w.Errorf("%s holds %q, %v", path, data, err)
	}
	if filepath.Dir(path) != filepath.Join(w.path, "Results") {
		w.Errorf("the results of %+v are in %s", m, path)
	}
	return filepath.Base(path)
}

func TestResultsLieInAFolderWithTheMachinesTitle(t *testing.T) {
	w := newWorld(t)
	m := machine.Machine{ID: id, Name: "brave-otter-42"}
	if path := w.folder.Results(m); path != "" {
		t.Errorf("without results they are in %s", path)
	}
	if got := w.brings(m, "a.txt"); got != "brave-otter-42" {
		t.Errorf("without a title they are in %s", got)
	}
	m.Title = "Sales by region: Q3/2026"
	if got := w.brings(m, "b.txt"); got != "Sales by region- Q3-2026" {
		t.Errorf("with a title they are in %s", got)
	}
	w.has(filepath.Join(w.path, "Results"), "Sales by region- Q3-2026/a.txt=a.txt", "Sales by region- Q3-2026/b.txt=b.txt")

	w.open()
	if got := w.brings(m, "c.txt"); got != "Sales by region- Q3-2026" {
		t.Errorf("after a restart they are in %s", got)
	}
	// Whoever deletes the folder gets a new one.
	if err := os.RemoveAll(w.folder.Results(m)); err != nil {
		t.Fatal(err)
	}
	if path := w.folder.Results(m); path != "" {
		t.Errorf("the deleted folder is told as %s", path)
	}
	if got := w.brings(m, "d.txt"); got != "Sales by region- Q3-2026" {
		t.Errorf("the new folder is %s", got)
	}
}

func TestTwoMachinesWithOneTitleHaveTwoFolders(t *testing.T) {
	w := newWorld(t)
	first := machine.Machine{ID: id, Name: "brave-otter-42", Title: "Report"}
	second := machine.Machine{ID: "fedcba9876543210", Name: "calm-fox-7", Title: "Report"}
	if a, b := w.brings(first, "a.txt"), w.brings(second, "b.txt"); a != "Report" || b != "Report (calm-fox-7)" {
		t.Errorf("they are %s and %s", a, b)
	}
	// A title that becomes free takes no files along, and one that is taken moves none.
	first.Title = "Other"
	if got := w.brings(first, "c.txt"); got != "Other" {
		t.Errorf("the first is %s", got)
	}
	if got := w.brings(second, "d.txt"); got != "Report (calm-fox-7)" {
		t.Errorf("the second is %s", got)
	}
	w.write(filepath.Join(w.path, "Results", "Mine", "own.txt"), "own")
	first.Title = "Mine"
	if got := w.brings(first, "e.txt"); got != "Mine (brave-otter-42)" {
		t.Errorf("beside a person's folder it is %s", got)
	}
}

func TestATitleIsNoPathAndNoProgram(t *testing.T) {
	for _, c := range []struct{ title, want string }{
		{"../../.ssh", "ssh"},
		{"Report v1.2", "Report v1-2"},
		{"Calculator.app", "Calculator-app"},
		{".git", "git"},
		{"-rf /", "rf -"},
		{"..", "m"},
		{"a\u202egnp\x00\n b", "a gnp b"},
		{"  \t", "m"},
		{strings.Repeat("é", 300), strings.Repeat("é", 60)},
	} {
		w := newWorld(t)
		if got := w.brings(machine.Machine{ID: id, Name: "m", Title: c.title}, "a.txt"); got != c.want {
			t.Errorf("%q is the folder %q, want %q", c.title, got, c.want)
		}
	}
}
