package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestChangesOfSourcesAreSeen(t *testing.T) {
	folder := t.TempDir()
	watcher, err := watch(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, watcher, changes) }()

	source := filepath.Join(folder, "machine", "machine.go")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"a new folder", func() error { return os.Mkdir(filepath.Dir(source), 0o700) }},
		{"a new file in it", func() error { return os.WriteFile(source, []byte("package machine"), 0o600) }},
		{"a file that an editor puts in its place", func() error {
			if err := os.WriteFile(source+"~", []byte("package machine\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(source+"~", source)
		}},
		{"a file that is removed", func() error { return os.Remove(source) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changes:
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatalf("%s was not seen", step.name)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatIsASource(t *testing.T) {
	for path, want := range map[string]bool{
		"backend/store/migrations/0001.sql": true,
		"backend/machine/compare.py":        true,
		"backend/machine/machine.go":        true,
		"backend/machine/machine_test.go":   false,
		"backend/machine/machine.go~":       false,
		"backend/machine/.machine.go.swp":   false,
	} {
		if got := isSource(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
