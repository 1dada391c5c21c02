package backup

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/home"
)

func TestARoundIsDueEachNight(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.Local) }
	folder := "/somewhere"
	dirs, err := home.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := New(Config{Dirs: dirs, Plan: func() Plan { return Plan{Folder: folder, Keep: 1} }, Told: func(string) {}, Logger: slog.New(slog.DiscardHandler)})
	if !k.due(at(1, 12, 0)) {
		t.Error("the first round is not due")
	}
	for _, one := range []struct {
		tried, now time.Time
		problem    string
		due        bool
	}{
		{at(1, 12, 0), at(2, 2, 59), "", false},
		{at(1, 12, 0), at(2, 3, 0), "", true},
		{at(2, 3, 0), at(2, 23, 0), "", false},
		{at(2, 1, 0), at(2, 3, 0), "", true},
		{at(2, 3, 0), at(5, 9, 0), "", true}, // the computer was off
		{at(30, 12, 0), at(30, 12, 59), "the disk is not there", false},
		{at(30, 12, 0), at(30, 13, 0), "the disk is not there", true},
	} {
		k.known.TriedAt, k.known.Problem = one.tried, one.problem
		if got := k.due(one.now); got != one.due {
			t.Errorf("tried %s, now %s, %q: %v", one.tried, one.now, one.problem, got)
		}
	}
	folder = ""
	if k.due(at(30, 23, 0)) {
		t.Error("a round is due though nobody wants backups")
	}
}

func TestOldCopiesGo(t *testing.T) {
	folder := t.TempDir()
	at := time.Date(2026, 11, 28, 3, 0, 0, 0, time.Local)
	kept := []string{"brave-otter-42.fvm", "other 2026-11-01 03-00-00.fvm", "notes.txt"}
	for _, name := range kept {
		write(t, folder, name)
	}
	for i := range 5 {
		name := nameOf("brave-otter-42", at.AddDate(0, 0, -i))
		write(t, folder, name)
		if i < 2 {
			kept = append(kept, name)
		}
	}
	if err := thin(folder, "brave-otter-42", 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != len(kept) {
		t.Errorf("%v: %v", err, entries)
	}
	for _, entry := range entries {
		if !slices.Contains(kept, entry.Name()) {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

func write(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
