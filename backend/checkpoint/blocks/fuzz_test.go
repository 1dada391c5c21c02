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
	f.Add(encodeList(base, 0, zero, nil), 4)
	f.Add(encodeList(append(slices.Clone(base), base...), 1, ID{1}, base), 8)
	f.Fuzz(func(t *testing.T, b []byte, units int) {
		units &= 1<<16 - 1 // it is not about what a large list takes
		head, steps, err := parseListHead(b, units)
		if err != nil {
			return
		}
		named := 0
		err = literals(head, steps, func(ID) { named++ })
		l, full := parseSteps(head, steps, base)
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
		if err != nil && !errors.Is(err, ErrDamaged) {
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
		units := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ID {
			if n := rapid.IntRange(0, 6).Draw(t, "n"); n > 0 {
				return ID{byte(n)}
			}
			return zero
		}), 0, 40)
		base, want := list(units.Draw(t, "base")), list(units.Draw(t, "list"))
		head, steps, err := parseListHead(encodeList(want, 1, ID{9}, base), len(want))
		if err != nil || head.depth != 1 || head.base != (ID{9}) {
			t.Fatalf("%+v, %v", head, err)
		}
		if got, err := parseSteps(head, steps, base); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v for %v, %v", got, want, err)
		}
	})
}
