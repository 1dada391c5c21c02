package blocks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// world is a store, and what was put into it.
type world struct {
	t       testing.TB
	root    string
	s       *Store
	content map[string]map[string][]byte // what was acknowledged: files by recipe
	n       int
	checks  int
	disk    disk  // nil for the real one
	small   int64 // files of up to so many bytes are frames
}

func newWorld(t testing.TB, root string) *world {
	w := &world{t: t, root: root, content: map[string]map[string][]byte{}}
	for _, dir := range []string{"recipes", "graveyard", "blocks"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.s = w.open()
	return w
}

// open is the store as another process would open it.
func (w *world) open() *Store {
	s := Open(filepath.Join(w.root, "blocks"), func() ([]string, error) {
		return filepath.Glob(filepath.Join(w.root, "recipes", "*.blocks"))
	})
	s.small = w.small
	if w.disk != nil {
		s.disk = w.disk
	}
	return s
}

func (w *world) path(name string) string { return filepath.Join(w.root, "recipes", name+".blocks") }

// put keeps files under a new name, which it returns.
func (w *world) put(s *Store, files map[string][]byte, near string) (string, error) {
	w.t.Helper()
	w.n++
	name := "r" + strconv.Itoa(w.n)
	dir, err := os.MkdirTemp(w.root, "put")
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if near != "" {
		near = w.path(near)
	}
	_, err = s.Put(context.Background(), dir, slices.Sorted(maps.Keys(files)), near, w.path(name), json.RawMessage(`{"a":1}`), nil)
	if err == nil {
		w.content[name] = files
	}
	return name, err
}

// restored says how what is restored differs from what was put; nil where it does not.
func (w *world) restored(s *Store, name string) error {
	r, err := ReadRecipe(w.path(name))
	if err != nil {
		return err
	}
	if err := w.same(s, name, r, Like{}); err != nil {
		return err
	}
	if w.checks++; w.checks%4 == 0 {
		like, err := w.like(name)
		if err != nil {
			return err
		}
		defer os.RemoveAll(like.Dir)
		if err := w.same(s, name, r, like); err != nil {
			return fmt.Errorf("like others: %w", err)
		}
	}
	return s.Verify(context.Background(), r)
}

// like has the files of another that was put, some of which have changed since, and lost their
// ends, unless they are said to be sound.
func (w *world) like(name string) (like Like, err error) {
	sound := w.checks%2 == 0
	if sound {
		like.Sound = func(string, int64, []byte) bool { return true }
	}
	for _, other := range slices.Sorted(maps.Keys(w.content)) {
		r, err := ReadRecipe(w.path(other))
		if other == name || err != nil {
			continue
		}
		like.Recipe = r
		if like.Dir, err = os.MkdirTemp(w.root, "like"); err != nil {
			return like, err
		}
		for file, b := range w.content[other] {
			b = bytes.Clone(b)
			if len(b) > 0 && !sound && w.checks%3 == 0 {
				b[len(b)/2]++
			}
			if !sound && w.checks%5 == 0 {
				b = b[:len(b)*2/3]
			}
			if err := os.WriteFile(filepath.Join(like.Dir, file), b, 0o600); err != nil {
				return like, err
			}
		}
		break
	}
	return like, nil
}

// same says how what is restored with the help of others differs from what was put; nil where it
// does not.
func (w *world) same(s *Store, name string, r Recipe, like Like) error {
	dir, err := os.MkdirTemp(w.root, "restored")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := s.Restore(context.Background(), r, dir, like); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(w.content[name]) {
		return fmt.Errorf("%d files, %w", len(entries), err)
	}
	for file, want := range w.content[name] {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("%s has %d bytes for %d, %w", file, len(got), len(want), err)
		}
	}
	return nil
}

func (w *world) remove(name string) {
	if err := os.Remove(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
	delete(w.content, name)
}

// packs are the names of the packs and how many bytes they have.
func (w *world) packs() (names []string, size int64) {
	paths, _ := filepath.Glob(filepath.Join(w.root, "blocks", "*"+packSuffix))
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			w.t.Fatal(err)
		}
		names, size = append(names, p), size+info.Size()
	}
	return names, size
}

// alike is what the numbers of pages differ by that differ in a few bytes only.
const alike = 1 << 20

// page is a page that there is only one of for each number; some can be compressed, 0 is zeros.
func page(n int) []byte {
	if n >= alike {
		b := page(n % alike)
		copy(b[n/alike%8*512:], strconv.Itoa(n))
		return b
	}
	b := make([]byte, Unit)
	if n == 0 {
		return b
	}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	end := len(b)
	if n%2 == 0 {
		end = 64
	}
	for i := 0; i < end; i += 8 {
		copy(b[i:], strconv.FormatUint(r.Uint64()|1<<63, 36))
	}
	return b
}

func pages(numbers ...int) []byte {
	var b []byte
	for _, n := range numbers {
		b = append(b, page(n)...)
	}
	return b
}

func TestWhatIsInCommonIsKeptOnce(t *testing.T) {
	w := newWorld(t, t.TempDir())
	image := make([]int, 2000)
	for i := range image {
		image[i] = i
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := w.put(w.s, map[string][]byte{"pages.img": pages(image...), "input.bin": nil}, "")
	ok(err)
	_, one := w.packs()
	// Each of twenty differs in a few pages from the one before; one page comes in between, which
	// moves all behind it.
	near := first
	for i := range 20 {
		for j := range 5 {
			image[(i*97+j*13)%len(image)] = 10_000 + i*10 + j
		}
		if i == 10 {
			image = slices.Insert(image, 500, 9_999)
		}
		near, err = w.put(w.open(), map[string][]byte{"pages.img": pages(image...), "input.bin": nil}, near)
		ok(err)
	}
	_, all := w.packs()
	if each := (all - one) / 20; each > 5*Unit+5_000 {
		t.Errorf("the first took %d bytes, each of those after it %d", one, each)
	}
	// The same again, and forks, cost nothing.
	again, err := w.put(w.s, w.content[near], near)
	ok(err)
	_, err = w.s.Link(t.Context(), w.path(near), w.path("fork"), json.RawMessage(`{}`))
	ok(err)
	if _, now := w.packs(); now != all {
		t.Errorf("the same again takes %d bytes", now-all)
	}
	w.content["fork"] = w.content[near]
	for name := range maps.Keys(w.content) {
		if err := w.restored(w.s, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What one alone needs goes with it.
	for name := range maps.Clone(w.content) {
		if name != again {
			w.remove(name)
		}
	}
	freed, err := w.s.Collect(t.Context())
	ok(err)
	if _, now := w.packs(); freed <= 0 || now != all-freed || now > one+40_000 {
		t.Errorf("%d bytes freed of %d, there are %d; one took %d", freed, all, now, one)
	}
	ok(w.restored(w.s, again))
	ok(w.restored(w.open(), again))
	w.remove(again)
	if _, err := w.s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, _ := w.packs(); len(names) != 0 {
		t.Errorf("of nothing are left %q", names)
	}
}

// A bit that has flipped anywhere is found and named. What is restored all the same is what was
// put.
func TestFlippedBits(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.small = 3 * Unit
	first, err := w.put(w.open(), map[string][]byte{"checkpoint.img": pages(1, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	name, err := w.put(w.open(), map[string][]byte{"pages.img": pages(1, 2, 3, 0, 4, 1), "checkpoint.img": append([]byte("moved"), pages(1, 3)...)}, first)
	if err != nil {
		t.Fatal(err)
	}
	packs, _ := w.packs()
	for _, path := range append(packs, w.path(name)) {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range good {
			if i > 300 && i%37 != 0 && i < len(good)-400 {
				continue
			}
			if i%8 == 4 && bytes.HasSuffix(good[:i], []byte("\x28\xb5\x2f\xfd")) {
				continue // zstd gives this bit no meaning
			}
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := w.restored(w.open(), name); err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s, byte %d: %v", path, i, err)
			}
			r, err := w.open().Check(t.Context(), true)
			if err != nil || len(r.Damage) == 0 && len(r.Lost) == 0 && len(r.Left) == 0 {
				t.Errorf("%s, byte %d: not found: %+v, %v", path, i, r, err)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What is damaged is set aside by a repair, what is whole stays, and what is put again afterwards
// is whole.
func TestRepair(t *testing.T) {
	for how, damage := range map[string]func(b []byte) []byte{
		"a block":            func(b []byte) []byte { b[len(packMagic)+headerSize+100] ^= 1; return b },
		"the head of one":    func(b []byte) []byte { b[len(packMagic)+3] ^= 1; return b },
		"the index":          func(b []byte) []byte { b[len(b)-footerSize-5] ^= 1; return b },
		"its length":         func(b []byte) []byte { b[len(b)-footerSize] ^= 1; return b },
		"its end is cut off": func(b []byte) []byte { return b[:len(b)-100] },
		"most is cut off":    func(b []byte) []byte { return b[:len(b)/2] },
		"all is cut off":     func([]byte) []byte { return nil },
	} {
		t.Run(how, func(t *testing.T) {
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
			b, err := os.ReadFile(packs[0])
			if err == nil {
				err = os.WriteFile(packs[0], damage(bytes.Clone(b)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.open().Collect(t.Context()); err == nil && how == "the index" {
				t.Error("collected though it cannot be known what is needed")
			}
			r, err := w.open().Repair(t.Context())
			if err != nil || len(r.Damage) == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if aside, err := os.ReadFile(packs[0] + ".damaged"); err != nil || !bytes.Equal(aside, damage(b)) || !slices.Equal(r.Aside, []string{packs[0] + ".damaged"}) {
				t.Errorf("%d bytes are set aside, %v; told are %q", len(aside), err, r.Aside)
			}
			lost := len(r.Lost) > 0
			if whole := how == "the head of one" || how == "the index" || how == "its length" || how == "its end is cut off"; lost == whole {
				t.Errorf("lost are %v", r.Lost)
			}
			if r, err := w.open().Check(t.Context(), true); err != nil || len(r.Damage)+len(r.Lost) > 0 {
				t.Errorf("after the repair: %+v, %v", r, err)
			}
			if err := w.restored(w.open(), second); err != nil {
				t.Error(err)
			}
			if err := w.restored(w.open(), first); (err != nil) != lost {
				t.Errorf("lost: %v; restored: %v", lost, err)
			}
			again, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 3, 5, 7)}, first)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.restored(w.s, again); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNearMayBeAnything(t *testing.T) {
	w := newWorld(t, t.TempDir())
	first, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 2, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(first), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, near := range []string{"never was", first} {
		name, err := w.put(w.s, map[string][]byte{"pages.img": pages(1, 2, 3)}, near)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.restored(w.s, name); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.s.Collect(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("collected beside a recipe that cannot be read: %v", err)
	}
}

// A put that fails for want of room, or is called off, leaves nothing that counts.
func TestPutIsCalledOff(t *testing.T) {
	w := newWorld(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), pages(1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.Put(ctx, dir, []string{"f"}, "", w.path("x"), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := w.s.Put(t.Context(), dir, []string{"g"}, "", w.path("x"), nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if names, _ := w.packs(); len(names) > 0 {
		t.Errorf("left are %q", names)
	}
}
