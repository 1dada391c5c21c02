//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// checkpointOf makes a checkpoint that only its manifest tells from a real one.
func checkpointOf(t *testing.T, e *Engine, id machine.ID, m checkpoint.Manifest) checkpoint.Manifest {
	t.Helper()
	f := folder(e.machineDir(id))
	name, err := f.NewID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Begin(name)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = p.Commit(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCheckFindsWhatIsMissing(t *testing.T) {
	e := New(Config{Supervisor: "/no/supervisor", Runsc: "/no/runsc", Images: "/no/images", Data: t.TempDir()})
	var said string
	for _, p := range e.Check(t.Context()) {
		if p.What == "" || p.Do == "" {
			t.Errorf("a problem without words: %+v", p)
		}
		said += p.What
	}
	for _, word := range []string{"supervisor", "runsc", "image"} {
		if !strings.Contains(said, word) {
			t.Errorf("%q says nothing of the %s", said, word)
		}
	}
	_, err := e.Start(t.Context(), machine.StartSpec{ID: "a", Image: "base"})
	if !errors.Is(err, machine.ErrUnavailable) || err.Error() == "" {
		t.Errorf("starting without programs: %v", err)
	}
	if problems := newEngine(t, t.TempDir()).Check(t.Context()); len(problems) > 0 {
		t.Errorf("where nothing is missing: %+v", problems)
	}
}

// A checkpoint is restored by the very image, runsc and spec that it was made with, or not at all.
func TestAnotherVersionIsRefused(t *testing.T) {
	e := newEngine(t, t.TempDir())
	p, err := e.parts("base")
	if err != nil {
		t.Fatal(err)
	}
	own := checkpoint.Manifest{Image: p.imageDigest, Runtime: p.runtime, Spec: sandbox.SpecDigest()}
	if err := p.fits(own); err != nil {
		t.Errorf("its own: %v", err)
	}
	for name, change := range map[string]func(*checkpoint.Manifest){
		"image": func(m *checkpoint.Manifest) { m.Image = "another" },
		"runsc": func(m *checkpoint.Manifest) { m.Runtime = "another" },
		"spec":  func(m *checkpoint.Manifest) { m.Spec = "another" },
	} {
		other := own
		change(&other)
		saved := checkpointOf(t, e, "a", other)
		_, err := e.Start(t.Context(), machine.StartSpec{ID: "a", Image: "base", Checkpoint: saved.ID})
		if !errors.Is(err, machine.ErrCheckpointUnusable) || !strings.Contains(err.Error(), "another version") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestDigestsAreRemembered(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	log := slog.New(slog.DiscardHandler)
	d := &digests{file: filepath.Join(dir, "data", "digests.json"), log: log}
	one, err := d.of(file)
	if err != nil || len(one) != 64 {
		t.Fatalf("%q, %v", one, err)
	}
	// Another process knows it without reading: a wrong entry would be believed.
	var stored map[string]remembered
	b, err := os.ReadFile(d.file)
	if err == nil {
		err = json.Unmarshal(b, &stored)
	}
	if err != nil || stored[file].SHA256 != one {
		t.Errorf("stored %+v, %v", stored, err)
	}
	again := &digests{file: d.file, log: log}
	if got, err := again.of(file); err != nil || got != one {
		t.Errorf("remembered %q, %v", got, err)
	}
	write("two")
	if got, err := again.of(file); err != nil || got == one {
		t.Errorf("of a changed file %q, %v", got, err)
	}
	// Put in place of the old one with the old one's times, as an update does.
	info, _ := os.Stat(file)
	other := filepath.Join(dir, "other")
	_ = os.WriteFile(other, []byte("six"), 0o600)
	_ = os.Chtimes(other, info.ModTime(), info.ModTime())
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	two, _ := hashFile(file)
	if got, err := again.of(file); err != nil || got != two {
		t.Errorf("of a file put in its place %q, %v", got, err)
	}
	// A broken memory is no memory.
	_ = os.WriteFile(d.file, []byte("{"), 0o600)
	if got, err := (&digests{file: d.file, log: log}).of(file); err != nil || got != two {
		t.Errorf("with a broken memory %q, %v", got, err)
	}
	// Nor is one that cannot be written, as on a full disk.
	if got, err := (&digests{file: filepath.Join(file, "digests.json"), log: log}).of(file); err != nil || got != two {
		t.Errorf("with no memory %q, %v", got, err)
	}
}

// A template is of the very image (the runner is in it), runsc and spec that it was made with: another one is made when any changes.
func TestTemplateOfOtherParts(t *testing.T) {
	e := newEngine(t, t.TempDir())
	p, err := e.parts("base")
	if err != nil {
		t.Fatal(err)
	}
	same, image, runtime := p, p, p
	same.image, same.runsc = "/elsewhere/base.erofs", "/elsewhere/runsc"
	image.imageDigest, runtime.runtime = "another", "another"
	if same.key() != p.key() || image.key() == p.key() || runtime.key() == p.key() || image.key() == runtime.key() {
		t.Errorf("the keys are %s, %s in another place, %s with another image, %s with another runsc", p.key(), same.key(), image.key(), runtime.key())
	}
	// The template of another runsc is not taken for this one's, and goes.
	old := filepath.Join(e.cfg.Data, "templates", runtime.key())
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := e.template(t.Context(), p)
	if err != nil || filepath.Dir(filepath.Dir(found)) != filepath.Join(e.cfg.Data, "templates", p.key()) {
		t.Errorf("the template is %s, %v", found, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other one is still there: %v", err)
	}
}

// Two daemons with one data folder make one template.
func TestOneTemplate(t *testing.T) {
	data := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		e := newEngine(t, data)
		all.Go(func() {
			if err := e.Prepare(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	made, err := filepath.Glob(filepath.Join(data, "templates", "*", "checkpoints", "*"))
	if err != nil || len(made) != 1 {
		t.Errorf("made %v, %v", made, err)
	}
	// Those of other versions go when a new one is made.
	old := filepath.Join(data, "templates", "0123456789abcdef01234567")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(filepath.Dir(made[0]))); err != nil {
		t.Fatal(err)
	}
	if err := newEngine(t, data).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old template is still there: %v", err)
	}
}

// A template that cannot be restored is made anew, and nobody is told.
func TestDamagedTemplate(t *testing.T) {
	e := newEngine(t, t.TempDir())
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(e.cfg.Data, "templates", "*", "checkpoints", "*", "pages.img"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("the template's pages are %q, %v", pages, err)
	}
	if err := os.Truncate(pages[0], 4096); err != nil {
		t.Fatal(err)
	}
	s, err := e.Start(t.Context(), machine.StartSpec{ID: "a", Image: "base", MemoryMB: 512})
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	<-s.Ended()
	if _, err := os.Stat(pages[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged template is still there: %v", err)
	}
}

// Whoever wants a machine waits for a supervisor that holds it, as long as he likes.
func TestWaitsForTheLock(t *testing.T) {
	e := newEngine(t, t.TempDir())
	lock, err := sandbox.Lock(e.machineDir("a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Reclaim(ctx, "a", "life", nil); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("while it is held: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- e.Purge(context.Background(), "a") }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	lock.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(e.machineDir("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("purged, and still there: %v", err)
	}
}

func TestIDsAreNoPaths(t *testing.T) {
	e := New(Config{Data: t.TempDir()})
	for _, id := range []machine.ID{"", "..", "a/b", "../x", "A", "a.removed", machine.ID(strings.Repeat("a", 100))} {
		if _, err := e.Start(t.Context(), machine.StartSpec{ID: id, Image: "base"}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("start %q: %v", id, err)
		}
		if err := e.Purge(t.Context(), id); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("purge %q: %v", id, err)
		}
		if err := e.DeleteCheckpoint(t.Context(), id, "x"); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("delete of %q: %v", id, err)
		}
		if _, err := e.Reclaim(t.Context(), id, "life", nil); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("reclaim %q: %v", id, err)
		}
		if _, err := e.CopyCheckpoint(t.Context(), "a", "x", id); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("copy to %q: %v", id, err)
		}
	}
}

// A purge that was cut off is completed by the next, whether or not the machine's folder is there.
func TestAPurgeThatWasCutOffIsCompleted(t *testing.T) {
	e := New(Config{Data: t.TempDir()})
	dir := e.machineDir("a")
	for _, folders := range [][]string{{dir + ".removed"}, {dir, dir + ".removed"}} {
		for _, f := range folders {
			if err := os.MkdirAll(filepath.Join(f, "checkpoints"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Purge(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
			t.Errorf("of %q is left: %v, %v", folders, left, err)
		}
	}
}
