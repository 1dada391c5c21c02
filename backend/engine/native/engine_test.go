//go:build linux && real

package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// storeAt is a store that logs nothing.
func storeAt(place local.Config) *local.Store {
	place.Log = slog.New(slog.DiscardHandler)
	return local.NewStore(place)
}

// checkpointOf makes a checkpoint that only its manifest tells from a real one.
func checkpointOf(t *testing.T, e *Engine, id machine.ID, m checkpoint.Manifest) checkpoint.Manifest {
	t.Helper()
	f := local.Checkpoints(e.store.Machine(id))
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
	e := New(Config{Supervisor: "/no/supervisor", Store: storeAt(local.Config{Runsc: "/no/runsc", Images: "/no/images", Data: t.TempDir()})})
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
	p, err := e.store.Parts("base")
	if err != nil {
		t.Fatal(err)
	}
	own := checkpoint.Manifest{Image: p.ImageDigest, Runtime: p.RuntimeDigest, Spec: sandbox.SpecDigest()}
	if err := p.Fits(own); err != nil {
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
	theTemplate := func() string {
		made, err := filepath.Glob(filepath.Join(data, "templates", "*", "checkpoints", "*"))
		if err != nil || len(made) != 1 {
			t.Fatalf("made %v, %v", made, err)
		}
		dir := filepath.Dir(filepath.Dir(made[0]))
		if _, err := os.Stat(filepath.Join(dir, firstName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the first life is left: %v", err)
		}
		return dir
	}
	dir := theTemplate()
	// Those of other versions go when a new one is made.
	old := filepath.Join(data, "templates", "0123456789abcdef01234567")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	// A crash left something of a first life.
	if err := os.MkdirAll(filepath.Join(dir, firstName, "checkpoints", "00000001-0123456789abcdef"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := newEngine(t, data).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	theTemplate()
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old template is still there: %v", err)
	}
}

// A template that cannot be restored is made again, and nobody is told.
func TestDamagedTemplate(t *testing.T) {
	e := newEngine(t, t.TempDir())
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(e.store.Config().Data, "templates", "*", "checkpoints", "*", "pages.img"))
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

// Anyone who wants a machine waits for a supervisor that holds it, as long as he likes.
func TestWaitsForTheLock(t *testing.T) {
	e := newEngine(t, t.TempDir())
	lock, err := sandbox.Lock(e.store.Machine("a"))
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
	if _, err := os.Stat(e.store.Machine("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("purged, and still there: %v", err)
	}
}

func TestIDsAreNoPaths(t *testing.T) {
	e := New(Config{Store: storeAt(local.Config{Data: t.TempDir()})})
	for _, id := range []machine.ID{"", "..", "a/b", "../x", "A", "a.removed", machine.ID(strings.Repeat("a", 100))} {
		if _, err := e.Start(t.Context(), machine.StartSpec{ID: id, Image: "base"}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("start %q: %v", id, err)
		}
		if err := e.Purge(t.Context(), id); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("purge %q: %v", id, err)
		}
		if err := e.store.Delete(t.Context(), id, "x"); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("delete of %q: %v", id, err)
		}
		if _, err := e.Reclaim(t.Context(), id, "life", nil); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("reclaim %q: %v", id, err)
		}
		if _, err := e.store.Copy(t.Context(), "a", "x", id); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("copy to %q: %v", id, err)
		}
	}
}

// A purge that was cut off is completed by the next, whether or not the machine's folder is there.
func TestAPurgeThatWasCutOffIsCompleted(t *testing.T) {
	e := New(Config{Store: storeAt(local.Config{Data: t.TempDir()})})
	dir := e.store.Machine("a")
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

// The patch "idle memory" of runsc: what a restore and a save have left of the sandbox's own memory
// goes back to the system while the machine lives.
func TestASandboxGivesMemoryBack(t *testing.T) {
	e := lentEngine(t, t.TempDir())
	if _, err := startNew(t, e, "a").Checkpoint(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprintf("/proc/%d/status", nativetest.Of(t, e.store.Machine("a"))["sandbox"])
	eventually(t, "less than 20 MB are its own", func() bool {
		content, err := os.ReadFile(status)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(content), "RssAnon:")
		var kb int
		if _, err := fmt.Sscan(after, &kb); err != nil {
			t.Fatal(err)
		}
		return kb < 20<<10
	})
}
