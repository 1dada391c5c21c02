package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// The next checkpoint of a running machine is written over the one that is dropped, unless a fork has the same file, or a sandbox still reads from it.
func TestADroppedCheckpointIsWrittenOver(t *testing.T) {
	machine := t.TempDir()
	f, fork, scratch := Folder(filepath.Join(machine, "checkpoints")), Folder(filepath.Join(t.TempDir(), "checkpoints")), filepath.Join(machine, "scratch")
	store := blocks.Open(filepath.Join(machine, "blocks"), f.Recipes)
	begin := func() *Pending {
		t.Helper()
		id, err := f.NewID()
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.BeginIn(id, scratch)
		if err != nil {
			t.Fatal(err)
		}
		p.UseSpare()
		return p
	}
	makeAndDrop := func(forked, read bool) {
		t.Helper()
		p := begin()
		if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("the older one"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := p.CommitUnsynced(Manifest{})
		if err == nil && read {
			var pages *os.File
			if pages, err = os.Open(filepath.Join(string(f), m.ID, "pages.img")); err == nil {
				t.Cleanup(func() { pages.Close() })
				err = unix.Flock(int(pages.Fd()), unix.LOCK_SH)
			}
		}
		if err == nil && forked {
			_, err = f.Copy(t.Context(), m.ID, fork, store)
		}
		if err == nil {
			_, err = f.Keep(t.Context(), m.ID, "", store)
		}
		if err == nil {
			err = f.DropFolder(m.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next := func() (content string, there bool) {
		t.Helper()
		p := begin()
		b, err := os.ReadFile(filepath.Join(p.Dir, "pages.img"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := p.Abort(); err != nil {
			t.Fatal(err)
		}
		return string(b), !errors.Is(err, os.ErrNotExist)
	}

	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	makeAndDrop(false, false)
	if content, there := next(); !there || content != "the older one" {
		t.Errorf("what the next one is written over is there: %v, and %q", there, content)
	}
	if _, there := next(); there {
		t.Error("it is used twice")
	}
	makeAndDrop(true, false)
	if _, there := next(); there {
		t.Error("what a fork has, too, is written over")
	}
	makeAndDrop(false, true)
	if _, there := next(); there {
		t.Error("what a sandbox still reads its memory from is written over")
	}
	makeAndDrop(false, false)
	RemoveSpare(scratch)
	if _, there := next(); there {
		t.Error("what was removed is there")
	}

	// Of a machine that does not run, nothing stays.
	p := begin()
	if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := p.CommitUnsynced(Manifest{})
	if err == nil {
		_, err = f.Keep(t.Context(), m.ID, "", store)
	}
	if err == nil {
		err = os.RemoveAll(scratch)
	}
	if err == nil {
		err = f.DropFolder(m.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left := names(t, f); len(left) != 5 { // the recipes
		t.Errorf("left are %q", left)
	}
}
