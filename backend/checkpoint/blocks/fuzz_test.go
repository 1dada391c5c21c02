package blocks

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func FuzzRecipe(f *testing.F) {
	w := newWorld(f, f.TempDir())
	name, err := w.put(w.s, map[string][]byte{"a": pages(1), "b": nil}, "")
	if err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, text := range [][]byte{b, sealed(b)} {
			r, err := ParseRecipe(text)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			for i := range r.Files {
				if r.Files[i].Name != filepath.Base(r.Files[i].Name) || r.Files[i].units() < 0 {
					t.Fatalf("%+v", r)
				}
			}
		}
	})
}

// sealed is a text as a recipe that has not changed since it was written.
func sealed(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\n"), nil)
	id := idOf(text)
	sum, _ := id.MarshalText()
	return slices.Concat(text, []byte("\n"), sum, []byte("\n"))
}

func FuzzList(f *testing.F) {
	base := list{idOf([]byte("1")), zero, idOf([]byte("2")), idOf([]byte("3"))}
	f.Add(encodeList(base, 0, zero, nil, nil), 4)
	f.Add(encodeList(append(slices.Clone(base), base...), 1, ID{1}, base, nil), 8)
	f.Add(encodeList(list{base[0], {7}, {8}, base[3]}, 1, ID{1}, base, map[ID]patch{{7}: {1, []byte{3, 1, 9}}, {8}: {2, []byte{}}}), 4)
	f.Add(encodeFrame(pages(1, 2), 2, zero, nil), 2)
	f.Add(encodeFrame(pages(2, 1), 2, ID{1}, pages(1, 2)), 2)
	f.Fuzz(func(t *testing.T, b []byte, units int) {
		units &= 1<<16 - 1 // it is not about what a large list takes
		head, steps, err := parseListHead(b, units)
		if err != nil {
			return
		}
		if head.frame {
			for _, base := range [][]byte{nil, pages(1, 2)} {
				if b, err := decodeFrame(head, steps, base); err == nil && unitsOf(int64(len(b))) != units {
					t.Fatalf("%d bytes for %d units", len(b), units)
				}
			}
			return
		}
		named := 0
		err = literals(head, steps, func(ID) { named++ })
		l, full := parseSteps(head, steps, base, func(_, _ ID, patch []byte) { _ = apply(make([]byte, Unit), patch) })
		if full == nil && (len(l) != head.units || err != nil) {
			t.Fatalf("%d for %d units; %v", len(l), head.units, err)
		}
		if named > head.units {
			t.Fatalf("%d of %d units", named, head.units)
		}
	})
}

// A pack may hold anything: what is taken from it is what its blocks' names say.
func FuzzPack(f *testing.F) {
	w := newWorld(f, f.TempDir())
	if _, err := w.put(w.s, map[string][]byte{"a": pages(1, 2, 3)}, ""); err != nil {
		f.Fatal(err)
	}
	packs, _ := w.packs()
	b, err := os.ReadFile(packs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x"+packSuffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDecoder()
		defer d.Close()
		check := func(e *entry, stored []byte) {
			raw, err := e.unpack(d, stored, nil)
			if err == nil && (idOf(raw) != e.id || len(raw) != int(e.raw)) {
				t.Fatalf("%+v gives %d bytes", e, len(raw))
			}
		}
		p, err := openPack(osDisk{}, dir, "x")
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Fatal(err)
		}
		if err == nil {
			for i := range p.entries {
				if b, err := p.read(osDisk{}, d, int32(i)); err == nil && idOf(b) != p.entries[i].id {
					t.Fatalf("block %d is another", i)
				}
			}
		}
		if err := scan(bytes.NewReader(b), d, func(e entry, stored []byte) error { check(&e, stored); return nil }); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		s := Open(dir, func() ([]string, error) { return nil, nil })
		if _, err := s.Repair(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Check(context.Background(), true); err != nil || len(r.Damage) > 0 {
			t.Fatalf("after a repair: %+v, %v", r, err)
		}
	})
}

// However two lists differ, what is stored of one against the other gives it back.
func TestLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ID {
			if n := rapid.IntRange(0, 6).Draw(t, "n"); n > 0 {
				return ID{byte(n)}
			}
			return zero
		}), 0, 40)
		base, want := list(ids.Draw(t, "base")), list(ids.Draw(t, "list"))
		patches := map[ID]patch{}
		for _, id := range want {
			if len(base) > 0 && !slices.Contains(base, id) && id[0]%2 == 0 && id != zero {
				patches[id] = patch{rapid.IntRange(0, len(base)-1).Draw(t, "from"), []byte{0, 1, id[0]}}
			}
		}
		head, steps, err := parseListHead(encodeList(want, 1, ID{9}, base, patches), len(want))
		if err != nil || head.depth != 1 || head.base != (ID{9}) {
			t.Fatalf("%+v, %v", head, err)
		}
		told := 0
		got, err := parseSteps(head, steps, base, func(id, of ID, b []byte) {
			told++
			if p := patches[id]; of != base[p.from] || !bytes.Equal(b, p.bytes) {
				t.Errorf("the patch of %v is %v of %v, not %+v", id, b, of, p)
			}
		})
		if err != nil || !slices.Equal(got, want) || told != len(patches) {
			t.Fatalf("%v for %v, %d patches for %d, %v", got, want, told, len(patches), err)
		}
	})
}

// However two pages differ, the patch makes the one of the other, or there is none.
func TestPatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := page(rapid.IntRange(0, 5).Draw(t, "base"))
		want := bytes.Clone(base)
		for range rapid.IntRange(0, 300).Draw(t, "changes") {
			at := rapid.IntRange(0, Unit-1).Draw(t, "at")
			want[at] += byte(rapid.IntRange(0, 2).Draw(t, "by"))
		}
		change := diff(base, want)
		if change == nil {
			return
		}
		got := bytes.Clone(base)
		if err := apply(got, change); err != nil || !bytes.Equal(got, want) || len(change) > largestPatch {
			t.Fatalf("%d bytes make another page, %v", len(change), err)
		}
	})
}
