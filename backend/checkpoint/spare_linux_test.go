package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// The next checkpoint of a running machine is written over the one that is dropped, unless a fork
// has the same file, or a sandbox still reads from it.
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
	makeAndDrop := func(forked bool, read func(dir string)) {
		t.Helper()
		p := begin()
		if err := os.WriteFile(filepath.Join(p.Dir, "pages.img"), []byte("the older one"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := p.CommitUnsynced(Manifest{})
		if err == nil && read != nil {
			read(f.Path(m.ID))
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
	sandbox := func(dir string) {
		pages, err := os.Open(filepath.Join(dir, "pages.img"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pages.Close() })
		if err := unix.Flock(int(pages.Fd()), unix.LOCK_SH); err != nil {
			t.Fatal(err)
		}
	}
	held := func(dir string) {
		sums, release := hold(dir)
		t.Cleanup(release)
		if sums == nil {
			t.Error("what has just been written is not known to be as it was")
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
	makeAndDrop(false, nil)
	if content, there := next(); !there || content != "the older one" {
		t.Errorf("what the next one is written over is there: %v, and %q", there, content)
	}
	if _, there := next(); there {
		t.Error("it is used twice")
	}
	makeAndDrop(true, nil)
	if _, there := next(); there {
		t.Error("what a fork has, too, is written over")
	}
	makeAndDrop(false, sandbox)
	if _, there := next(); there {
		t.Error("what a sandbox still reads its memory from is written over")
	}
	makeAndDrop(false, held)
	if _, there := next(); there {
		t.Error("what another one is just restored with is written over")
	}
	if sums, release := hold(f.Path("gone")); sums != nil {
		release()
		t.Error("what is not there is sound")
	}
	makeAndDrop(false, nil)
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
	if left := names(t, f); len(left) != 6 { // the recipes
		t.Errorf("left are %q", left)
	}
}
