package blocks

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What a newer program made is whole as far as this one can tell: it says so, and a repair leaves
// everything as it is that could belong to it.
func TestWhatIsNewerStays(t *testing.T) {
	newer := func(b []byte, mark string) []byte {
		at := bytes.LastIndex(b, []byte(mark)) + len(mark)
		b[at] = Version + 1
		return b
	}
	for what, change := range map[string]func(w *world, pack, name string) (path string, b []byte){
		"a pack": func(w *world, pack, _ string) (string, []byte) {
			b, _ := os.ReadFile(pack)
			return pack, newer(newer(b, indexMark), packMark)
		},
		"a pack that ends in another way": func(w *world, pack, _ string) (string, []byte) {
			b, _ := os.ReadFile(pack)
			return pack, append(newer(b, packMark), "the end"...)
		},
		"a recipe": func(w *world, _, name string) (string, []byte) {
			b, _ := os.ReadFile(w.path(name))
			text, _, _ := bytes.Cut(b, []byte("\n"))
			return w.path(name), sealed(bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1))
		},
		"a recipe of another shape": func(w *world, _, name string) (string, []byte) {
			return w.path(name), sealed([]byte(`{"version":2,"files":{"of":"another kind"}}`))
		},
		"a list": func(w *world, _, name string) (string, []byte) {
			r, _ := ReadRecipe(w.path(name))
			p := packer{disk: osDisk{}, dir: w.s.dir}
			b := []byte{listVersion + 1, 1, 2, 3}
			r.Files[0].List = idOf(b)
			if err := errors.Join(p.add(idOf(b), plain, len(b), b), p.finish()); err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(r)
			return w.path(name), sealed(text)
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			first, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 3, 5, 7)}, "")
			if err != nil {
				t.Fatal(err)
			}
			packs, _ := w.packs()
			second, err := w.put(w.s, map[string][]byte{"pages.img": pages(9, 11)}, "")
			if err != nil {
				t.Fatal(err)
			}
			path, b := change(w, packs[0], first)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := w.open().Repair(t.Context())
			if err != nil || len(r.Left) != 1 || len(r.Damage)+len(r.Aside) != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, b) {
				t.Errorf("it is no more what it was: %v", err)
			}
			if _, err := os.Stat(w.path(first)); err != nil {
				t.Error(err)
			}
			if err := w.restored(w.open(), first); !errors.Is(err, ErrVersion) {
				t.Errorf("restored: %v", err)
			}
			if _, err := w.open().Collect(t.Context()); !errors.Is(err, ErrVersion) {
				t.Errorf("collected: %v", err)
			}
			if _, err := w.put(w.open(), map[string][]byte{"pages.img": pages(1, 3)}, first); err != nil {
				t.Errorf("beside it, nothing can be put: %v", err)
			}
			if err := w.restored(w.open(), second); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(w.root, "*", "*.lost")); len(left) > 0 {
				t.Errorf("set aside are %q", left)
			}
		})
	}
}
