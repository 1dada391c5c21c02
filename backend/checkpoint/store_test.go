package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// put makes a checkpoint with one file of data.
func put(t *testing.T, f Folder, m Manifest, data string) Manifest {
	t.Helper()
	id, err := f.NewID()
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = time.Now().UTC()
	}
	if m, err = p.Commit(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func ids(t *testing.T, f Folder) []string {
	t.Helper()
	list, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

func names(t *testing.T, f Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(string(f))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestCommitAndLoad(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "checkpoints"))
	running := 7
	want := put(t, f, Manifest{LastSeq: 7, RunningSeq: &running, Image: "i", Runtime: "r", Spec: "s", Pause: time.Second, Baseline: 5, Life: "l"}, "12345")
	got, err := f.Load(want.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Size != 5 || got.Format != Format || got.LastSeq != 7 || *got.RunningSeq != 7 || got.Image != "i" || got.Runtime != "r" ||
		got.Spec != "s" || got.Pause != time.Second || got.Baseline != 5 || got.Life != "l" || !got.CreatedAt.Equal(want.CreatedAt) {
		t.Errorf("loaded %+v", got)
	}
	if info, err := os.Stat(f.Path(want.ID)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder is %v, %v", info, err)
	}
}

func TestIDsSortByAge(t *testing.T) {
	f := Folder(t.TempDir())
	var made []string
	for range 12 {
		made = append(made, put(t, f, Manifest{}, "x").ID)
	}
	if got := ids(t, f); !slices.Equal(got, made) || !slices.IsSorted(made) {
		t.Errorf("made %v, listed %v", made, got)
	}
	// Also after the newest one is gone, as long as somebody remembers it.
	newest := made[len(made)-1]
	if err := f.Delete(newest); err != nil {
		t.Fatal(err)
	}
	next, err := f.NewID(newest)
	if err != nil || next <= newest {
		t.Errorf("%s follows on %s, %v", next, newest, err)
	}
}

// A crash leaves a folder that is not there yet, or not there any more. Both are swept, the whole
// ones stay.
func TestCrashes(t *testing.T) {
	f := Folder(t.TempDir())
	kept := put(t, f, Manifest{}, "kept")
	half, _ := f.NewID()
	p, err := f.Begin(half)
	if err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("half"), 0o600)
	deleted := put(t, f, Manifest{}, "deleted")
	if err := os.Rename(f.Path(deleted.ID), f.Path(deleted.ID)+removed); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, f); !slices.Equal(got, []string{kept.ID}) {
		t.Errorf("before sweeping: %v", got)
	}
	if _, err := f.Load(half); !errors.Is(err, ErrUnusable) {
		t.Errorf("half a checkpoint: %v", err)
	}
	if err := f.Sweep(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, f); !slices.Equal(got, []string{kept.ID}) {
		t.Errorf("after sweeping: %v", got)
	}
}

func TestDamaged(t *testing.T) {
	f := Folder(t.TempDir())
	for name, damage := range map[string]func(path string) error{
		"no manifest":    os.Remove,
		"empty":          func(p string) error { return os.Truncate(p, 0) },
		"not JSON":       func(p string) error { return os.WriteFile(p, []byte("{"), 0o600) },
		"another format": func(p string) error { return os.WriteFile(p, []byte(`{"format":99}`), 0o600) },
		"another's id": func(p string) error {
			return os.WriteFile(p, []byte(`{"format":1,"id":"00000001-0000000000000000"}`), 0o600)
		},
		"numbers negative": func(p string) error {
			return os.WriteFile(p, []byte(`{"format":1,"id":"00000001-0000000000000000","size":-1}`), 0o600)
		},
		"larger than large": func(p string) error { return os.Truncate(p, 1<<30) },
	} {
		m := put(t, f, Manifest{}, "x")
		if err := damage(filepath.Join(f.Path(m.ID), manifestName)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Load(m.ID); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := ids(t, f); len(got) != 0 {
		t.Errorf("damaged ones are listed: %v", got)
	}
}

func TestIDsAreNoPaths(t *testing.T) {
	f := Folder(t.TempDir())
	for _, id := range []string{"", ".", "..", "../x", "00000001-000000000000000/", "00000001-000000000000000G", "x0000001-0000000000000000"} {
		if _, err := f.Load(id); !errors.Is(err, ErrUnusable) {
			t.Errorf("load %q: %v", id, err)
		}
		if err := f.Delete(id); err == nil {
			t.Errorf("deleted %q", id)
		}
		if _, err := f.Begin(id); err == nil {
			t.Errorf("began %q", id)
		}
	}
}

func TestCopy(t *testing.T) {
	f := Folder(t.TempDir())
	m := put(t, f, Manifest{LastSeq: 3, Image: "i", Life: "another's"}, "content")
	targets := map[string]string{"beside": t.TempDir()}
	if other, err := os.MkdirTemp("/dev/shm", "checkpoint"); err == nil { // another file system, where there is one
		t.Cleanup(func() { os.RemoveAll(other) })
		targets["elsewhere"] = other
	}
	for where, dir := range targets {
		to := Folder(filepath.Join(dir, "checkpoints"))
		copied, err := f.Copy(context.Background(), m.ID, to, nil)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		got, err := to.Load(copied.ID)
		if err != nil || got.ID == m.ID || got.LastSeq != 3 || got.Image != "i" || got.Size != m.Size || got.Life != "" {
			t.Errorf("%s: copied %+v, %v", where, got, err)
		}
		// The original may go.
		if b, err := os.ReadFile(filepath.Join(to.Path(copied.ID), "pages.img")); err != nil || string(b) != "content" {
			t.Errorf("%s: %q, %v", where, b, err)
		}
	}
	if err := f.Delete(m.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Copy(context.Background(), m.ID, Folder(t.TempDir()), nil); !errors.Is(err, ErrUnusable) {
		t.Errorf("copying what is gone: %v", err)
	}
}

func TestLives(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "checkpoints"))
	unrecorded := func(life string, known ...string) (newest string, superseded []string) {
		t.Helper()
		m, old, err := f.Unrecorded(life, known)
		if err != nil {
			t.Fatal(err)
		}
		if m != nil {
			newest = m.ID
		}
		for _, o := range old {
			superseded = append(superseded, o.ID)
		}
		return newest, superseded
	}
	if newest, old := unrecorded("first"); newest != "" || len(old) != 0 {
		t.Errorf("of a machine that never lived: %v, %v", newest, old)
	}
	a := put(t, f, Manifest{Life: "first"}, "a").ID
	b := put(t, f, Manifest{Life: "first"}, "b").ID
	if newest, old := unrecorded("first", a); newest != b || len(old) != 0 {
		t.Errorf("after a: %v, %v", newest, old)
	}
	if newest, old := unrecorded("first"); newest != b || !slices.Equal(old, []string{a}) {
		t.Errorf("none known: %v, %v", newest, old)
	}
	if newest, old := unrecorded("first", b); newest != "" || !slices.Equal(old, []string{a}) {
		t.Errorf("one that was overtaken by what is known: %v, %v", newest, old)
	}
	// A life that never saved, or died before it was told its name.
	if newest, old := unrecorded("second", a); newest != "" || len(old) != 0 {
		t.Errorf("a rewound machine is offered %v, %v", newest, old)
	}
	c := put(t, f, Manifest{Life: "second"}, "c").ID
	put(t, f, Manifest{}, "a copy, of nobody's life")
	if newest, old := unrecorded("second", a); newest != c || len(old) != 0 {
		t.Errorf("of the second life: %v, %v", newest, old)
	}
	if newest, old := unrecorded(""); newest != "" || len(old) != 0 {
		t.Errorf("of no life: %v, %v", newest, old)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"00000001-0000000000000000","created_at":"2026-01-02T03:04:05Z","life":"x","last_seq":3,"running_seq":3,"size":5,"image":"i","runtime":"r","spec":"s","pause_ns":1,"baseline":1}`))
	f.Add([]byte(`{"format":1,"id":"00000001-0000000000000000","running_seq":-1}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, ErrUnusable) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if !ValidID(m.ID) || m.Size < 0 || m.LastSeq < -1 || m.Pause < 0 {
			t.Fatalf("accepted %+v", m)
		}
	})
}

// What is written may be written by who means harm: a file that stands for another one is not
// touched, and not kept.
func TestLinksAreRefused(t *testing.T) {
	for _, name := range []string{"pages.img", manifestName} {
		f, scratch := Folder(t.TempDir()), t.TempDir()
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.WriteFile(victim, []byte("whole"), 0o600); err != nil {
			t.Fatal(err)
		}
		id, err := f.NewID()
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.BeginIn(id, scratch)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(p.Dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Commit(Manifest{}); err == nil {
			t.Errorf("a link as %s is kept", name)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "whole" {
			t.Errorf("a link as %s leads to %q, %v", name, b, err)
		}
		if err := p.Abort(); err != nil {
			t.Error(err)
		}
		if got := names(t, f); len(got) != 0 {
			t.Errorf("left are %q", got)
		}
	}
}

// What was not synced before the computer stopped is not taken for good: its blocks are, where they
// were kept.
func TestUnsynced(t *testing.T) {
	root := t.TempDir()
	f, other := Folder(filepath.Join(root, "checkpoints")), Folder(filepath.Join(root, "other"))
	store := blocks.Open(filepath.Join(root, "blocks"), func() ([]string, error) {
		ours, err := f.Recipes()
		theirs, otherErr := other.Recipes()
		return append(ours, theirs...), errors.Join(err, otherErr)
	})
	boot := thisBoot
	t.Cleanup(func() { thisBoot = boot })
	thisBoot = func() string { return "this one" }
	made := make([]Manifest, 2)
	for i := range made {
		id, err := f.NewID()
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Begin(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		if made[i], err = p.CommitUnsynced(Manifest{LastSeq: i}); err != nil {
			t.Fatal(err)
		}
	}
	lost, kept := made[0].ID, made[1].ID
	if _, err := f.Keep(t.Context(), kept, f.Near(kept), store); err != nil {
		t.Fatal(err)
	}
	copies := map[string]Manifest{}
	for _, id := range []string{lost, kept} {
		m, err := f.Copy(t.Context(), id, other, store)
		if err != nil || !other.Whole(m.ID) {
			t.Fatalf("%+v, %v", m, err)
		}
		copies[id] = m
	}
	if got := ids(t, f); !slices.Equal(got, []string{lost, kept}) || !f.Whole(kept) {
		t.Errorf("at first there are %q", got)
	}
	thisBoot = func() string { return "the next one" }
	if _, err := f.Load(lost); !errors.Is(err, ErrUnusable) {
		t.Errorf("what may not be on the disk is loaded: %v", err)
	}
	if got := ids(t, f); !slices.Equal(got, []string{kept}) || f.Whole(kept) {
		t.Errorf("after the computer has stopped there are %q", got)
	}
	if m, err := f.Load(kept); err != nil || m.LastSeq != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := f.Expand(t.Context(), kept, root, "", store); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(root, kept, "pages.img")); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	// The copy of what was not kept was synced.
	for id, whole := range map[string]bool{lost: true, kept: false} {
		if _, err := other.Load(copies[id].ID); err != nil || other.Whole(copies[id].ID) != whole {
			t.Errorf("the copy is whole: %v, %v", other.Whole(copies[id].ID), err)
		}
	}
	if err := f.DropFolder(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Path(kept)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what can be relied on no more is still there: %v", err)
	}
}
