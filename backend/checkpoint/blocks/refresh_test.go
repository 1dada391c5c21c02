package blocks

import (
	"slices"
	"testing"
)

// A pack that somebody has found just before the one who made it tells of it is known once: otherwise its blocks would be none of its own, and it
// could never be written anew without those that nobody needs.
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
