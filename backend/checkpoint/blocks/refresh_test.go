package blocks

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
)

// A pack that somebody has found just before the one who made it tells of it is known once:
// otherwise its blocks would be none of its own, and it could never be rewritten without those
// that nobody needs.
func TestPackIsKnownOnce(t *testing.T) {
	w := newWorld(t, t.TempDir())
	first, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 2, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	packs, _ := w.packs()
	second, err := w.put(w.s, map[string][]byte{"pages.img": pages(1)}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.s.mu.Lock()
	for _, p := range w.s.packs { // as Put tells of it
		again := *p
		w.s.add(&again)
	}
	w.s.mu.Unlock()
	w.remove(first)
	if _, err := w.s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := w.packs(); slices.Contains(left, packs[0]) {
		t.Error("the pack stays, with blocks that nobody needs")
	}
	if err := w.restored(w.s, second); err != nil {
		t.Error(err)
	}
}

// ill is a disk with one file that cannot be read from a certain place on.
type ill struct {
	osDisk
	path string
	from int64 // 0 for a file that cannot even be opened
	err  error
}

func (d *ill) Open(path string) (input, error) {
	if path == d.path && d.from == 0 {
		return nil, &os.PathError{Op: "open", Path: path, Err: d.err}
	}
	f, err := d.osDisk.Open(path)
	if path == d.path && err == nil {
		f = illFile{f, d}
	}
	return f, err
}

type illFile struct {
	input
	disk *ill
}

func (f illFile) ReadAt(b []byte, offset int64) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if end := offset + int64(len(b)); end > f.disk.from && end < info.Size()-int64(footerSize+entrySize) {
		return 0, &os.PathError{Op: "read", Path: f.disk.path, Err: f.disk.err}
	}
	return f.input.ReadAt(b, offset)
}

// A pack that the disk does not give back concerns those that need it, and nobody else; a repair
// leaves it for the day on which it does. That we have too many files open is no fault of a pack's.
func TestUnreadablePack(t *testing.T) {
	w := newWorld(t, t.TempDir())
	first, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 2, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	packs, _ := w.packs()
	second, err := w.put(w.s, map[string][]byte{"pages.img": pages(4, 5)}, "")
	if err != nil {
		t.Fatal(err)
	}
	d := &ill{path: packs[0], err: syscall.EIO}
	w.disk = d
	if err := w.restored(w.open(), second); err != nil {
		t.Error(err)
	}
	if err := w.restored(w.open(), first); !errors.Is(err, ErrDamaged) || !errors.Is(err, syscall.EIO) {
		t.Errorf("restored: %v", err)
	}
	third, err := w.put(w.open(), map[string][]byte{"pages.img": pages(6)}, first)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := w.open().Repair(t.Context()); err != nil || len(r.Damage) != 0 || len(r.Left) != 1 || len(r.Lost) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	d.from = int64(len(packMagic)) + 10 // its index can be read
	if err := w.restored(w.open(), first); !errors.Is(err, ErrDamaged) || !errors.Is(err, syscall.EIO) {
		t.Errorf("restored from what can be read in part: %v", err)
	}
	if r, err := w.open().Repair(t.Context()); err != nil || len(r.Damage) != 0 || len(r.Left) == 0 || len(r.Aside) != 0 {
		t.Errorf("read in part: %+v, %v", r, err)
	}
	if now, _ := w.packs(); !slices.Contains(now, packs[0]) {
		t.Error("the pack is gone")
	}
	d.from = 0
	d.err = syscall.EMFILE
	if err := w.restored(w.open(), second); !errors.Is(err, syscall.EMFILE) || errors.Is(err, ErrDamaged) {
		t.Errorf("without files left: %v", err)
	}
	d.path = ""
	for _, name := range []string{first, second, third} {
		if err := w.restored(w.open(), name); err != nil {
			t.Errorf("once it can be read again: %v", err)
		}
	}
}
