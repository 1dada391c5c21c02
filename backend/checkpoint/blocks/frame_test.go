package blocks

import (
	"bytes"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// kernelState is what a kernel's state is like: every page of it differs from the one that was n
// steps before, as something at its beginning has grown, and little is new.
func kernelState(n int) []byte {
	b := bytes.Repeat([]byte("one more,"), n)
	for i := range 50 {
		if i%10 == n%10 {
			b = append(b, page(10_001 + 2*n)[:100]...)
		}
		b = append(b, page(2*i+1)...)
	}
	return b
}

func TestSmallFilesAreKeptAsWhatIsNewInThem(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.small = mostFrame
	w.s = w.open()
	put := func(b []byte, near string) (name string, stored int64) {
		t.Helper()
		_, before := w.packs()
		name, err := w.put(w.s, map[string][]byte{"checkpoint.img": b}, near)
		if err != nil {
			t.Fatal(err)
		}
		_, after := w.packs()
		return name, after - before
	}
	first, whole := put(kernelState(0), "")
	near := first
	for i := range 20 {
		var stored int64
		if near, stored = put(kernelState(i+1), near); stored > whole/20 {
			t.Errorf("the first took %d bytes, number %d %d", whole, i+1, stored)
		}
	}
	if _, stored := put(kernelState(20), near); stored != 0 {
		t.Errorf("the same again takes %d bytes", stored)
	}
	var another []byte
	for i := range 40 {
		another = append(another, page(20_001+2*i)...)
	}
	other, stored := put(another, near)
	// What others are made of stays while they are there.
	w.remove(first)
	if _, err := w.s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name := range maps.Keys(w.content) {
		if err := w.restored(w.open(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range maps.Clone(w.content) {
		if name != other {
			w.remove(name)
		}
	}
	if _, err := w.s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, left := w.packs(); left != stored {
		t.Errorf("%d bytes are left", left)
	}
	if err := w.restored(w.open(), other); err != nil {
		t.Error(err)
	}
}

// However two files differ, the frame of one against the other gives it back.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([][]byte{nil, []byte("a"), bytes.Repeat([]byte("ab"), 300), page(1), page(3), page(5), page(0)})
		file := rapid.Custom(func(t *rapid.T) []byte { return bytes.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), nil) })
		want, base := append(file.Draw(t, "file"), 1), append(file.Draw(t, "base"), 2)
		for _, base := range [][]byte{nil, base} {
			head, frame, err := parseListHead(encodeFrame(want, unitsOf(int64(len(want))), ID{9}, base), unitsOf(int64(len(want))))
			if err != nil || !head.frame || (head.depth == 1) != (base != nil) {
				t.Fatalf("%+v, %v", head, err)
			}
			if got, err := decodeFrame(head, frame, base); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes for %d, %v", len(got), len(want), err)
			}
		}
	})
}
