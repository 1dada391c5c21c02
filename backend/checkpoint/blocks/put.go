package blocks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Put keeps the files of those names in the folder dir, and writes what they are made of to the
// file recipe. near, which may be "" or gone, is the recipe of files that have much in common with
// them. On an error nothing is kept. The files must not change meanwhile. Where through is not nil,
// each file is read through what it returns, to its end.
//
// It works on one processor, stands back for who is in a rush, and takes some MiB of memory, and 70
// bytes for each block.
func (s *Store) Put(ctx context.Context, dir string, names []string, near, recipe string, meta json.RawMessage, through func(name string, r io.Reader) (io.Reader, error)) (Recipe, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Recipe{}, err
	}
	defer release()
	w := putting{s: s, ctx: ctx, pack: packer{disk: s.disk, dir: s.dir}, fresh: map[ID]bool{}, encoder: newEncoder(), decoder: decoders.Get().(*zstd.Decoder)}
	defer w.pack.abort()
	defer decoders.Put(w.decoder)
	if near != "" {
		w.near, err = ReadRecipe(near)
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) && !errors.Is(err, fs.ErrNotExist) {
			return Recipe{}, err
		}
	}
	if err := s.refresh(); err != nil {
		return Recipe{}, err
	}
	r := Recipe{Meta: meta}
	for _, name := range names {
		f, err := w.file(filepath.Join(dir, name), through)
		if err != nil {
			return Recipe{}, fmt.Errorf("keep %s: %w", name, err)
		}
		r.Files = append(r.Files, f)
	}
	if err := w.pack.finish(); err != nil {
		return Recipe{}, err
	}
	r.Stored = w.pack.bytes
	if err := s.write(r, recipe); err != nil {
		return Recipe{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		for _, p := range w.pack.made {
			s.add(p)
		}
	}
	return r, nil
}

// putting is a Put under way.
type putting struct {
	s       *Store
	ctx     context.Context
	near    Recipe
	pack    packer
	fresh   map[ID]bool // what was added
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	buffer  []byte // for what is compressed
}

// segment is how much of a file is looked at in one go.
const segment = 1 << 20

var zeros = make([]byte, Unit)

// file keeps one file.
func (w *putting) file(path string, through func(name string, r io.Reader) (io.Reader, error)) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	f := File{Name: filepath.Base(path), Size: info.Size()}
	in := io.Reader(file)
	if through != nil {
		if in, err = through(f.Name, in); err != nil {
			return f, err
		}
	}
	if f.Size == 0 {
		return f, atEnd(in)
	}
	if !info.Mode().IsRegular() || f.Size > maxUnits*Unit {
		return f, fmt.Errorf("%w: it is no file, or too large", ErrDamaged)
	}
	if f.Size <= w.s.small {
		f.List, err = w.frame(in, &f)
		return f, err
	}
	l := make(list, 0, f.units())
	base := w.base(f.Name)
	chunk := make([]byte, segment)
	for done := int64(0); done < f.Size; {
		w.s.rush.wait(w.ctx)
		if err := w.ctx.Err(); err != nil {
			return f, err
		}
		n, err := io.ReadFull(in, chunk[:min(segment, f.Size-done)])
		if err != nil {
			return f, err
		}
		done += int64(n)
		from := len(l)
		for b := chunk[:n]; len(b) > 0; b = b[min(Unit, len(b)):] {
			unit := b[:min(Unit, len(b))]
			if bytes.Equal(unit, zeros[:len(unit)]) {
				l = append(l, zero)
			} else {
				l = append(l, idOf(unit))
			}
		}
		for i, at := range w.s.findAll(l[from:]) {
			id := l[from+i]
			near := base.follow(id)
			if at.pack != nil || id == zero || w.fresh[id] || w.told(&base, near, id) {
				continue
			}
			b := chunk[i*Unit : min(n, (i+1)*Unit)]
			if w.patch(&base, near, id, b) {
				continue
			}
			if err := w.add(id, b); err != nil {
				return f, err
			}
		}
	}
	if err := atEnd(in); err != nil {
		return f, err
	}
	f.List, err = w.list(&base, l)
	return f, err
}

// atEnd reads the end of a file that has been read.
func atEnd(in io.Reader) error {
	switch n, err := in.Read(make([]byte, 1)); {
	case n > 0:
		return errors.New("the file has become longer")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// nearby reads the list of the file of that name nearby; the zero value is none, or one that is
// damaged, on which nothing is to depend.
func (w *putting) nearby(name string) chain {
	for i := range w.near.Files {
		if n := &w.near.Files[i]; n.Name == name && n.Size > 0 {
			if c, err := w.s.of(n); err == nil {
				return c
			}
		}
	}
	return chain{}
}

// basis is the list that the list of a file is told as steps from, and how far the two have been
// followed; the zero value is none.
type basis struct {
	last  chain // of the file of that name nearby
	id    ID    // the base
	list  list  // its blocks
	depth int   // of who is based on it
	pages patchedPages

	at      int        // where in list what comes next is, usually
	where   map[ID]int // in list; made when it is needed
	patches map[ID]patch
	size    int  // of patches, in bytes
	relied  bool // on pages that are no blocks: the file's list cannot do without the base
}

// base finds the list that a file's is based on: that of the file of that name nearby, or the end
// of its chain where that is long.
func (w *putting) base(name string) basis {
	c := w.nearby(name)
	if len(c.ids) == 0 || c.frame != nil {
		return basis{}
	}
	b := basis{last: c, id: c.ids[0], list: c.list, depth: len(c.ids), pages: c.patched, patches: map[ID]patch{}}
	if b.depth > maxDepth {
		b.id, b.list, b.depth, b.pages = c.ids[len(c.ids)-1], c.end, 1, nil
	}
	return b
}

// follow goes on by one block of the file, and returns where in the base that is which it has taken
// the place of, or how long the base is.
func (b *basis) follow(id ID) int {
	at := b.at
	b.at++
	if at < len(b.list) && b.list[at] == id || len(b.list) == 0 || id == zero {
		return at
	}
	if b.where == nil {
		b.where = make(map[ID]int, len(b.list))
		for i, id := range slices.Backward(b.list) {
			b.where[id] = i
		}
	}
	if moved, ok := b.where[id]; ok { // something has come in between, or is gone
		b.at = moved + 1
		return moved
	}
	return min(at, len(b.list))
}

// told says whether a page that is no block needs not be kept: it has a patch already, or the base
// has it at near, and what it is made of is there. One that only lists behind the base have becomes
// a block, as collecting follows a list's own names and its base's, and no others.
func (w *putting) told(b *basis, near int, id ID) bool {
	if _, ok := b.patches[id]; ok {
		return true
	}
	if near >= len(b.list) || b.list[near] != id {
		return false
	}
	next := id
	for range maxDepth + 1 {
		p, ok := b.pages[next]
		if !ok {
			return false
		}
		if _, there := w.s.find(p.base); there || p.base == zero {
			b.relied = true
			return true
		}
		next = p.base
	}
	return false
}

// patch keeps a page as what is different in it from the one of the base at near, if that is
// another, and little.
func (w *putting) patch(b *basis, near int, id ID, page []byte) bool {
	if _, behind := b.pages[id]; behind {
		return false // the older patch would count, and what it is made of is none of the base's
	}
	if near >= len(b.list) || b.list[near] == id || len(page) != Unit || len(b.patches) >= mostPatches || b.size >= mostPatchBytes {
		return false
	}
	old, err := b.pages.page(b.list[near], w.block)
	if err != nil {
		return false // it is damaged: nothing is to depend on it
	}
	change := diff(old, page)
	if change == nil {
		return false
	}
	b.patches[id] = patch{near, change}
	b.size += len(change)
	b.relied = true
	return true
}

// block is the bytes of a block; nil where it is none.
func (w *putting) block(id ID) ([]byte, error) {
	at, ok := w.s.find(id)
	if !ok {
		return nil, nil
	}
	return at.pack.read(w.s.disk, w.decoder, at.at)
}

// add stores a block.
func (w *putting) add(id ID, b []byte) error {
	w.fresh[id] = true
	w.buffer = w.encoder.EncodeAll(b, w.buffer[:0])
	if len(w.buffer) < len(b)-len(b)/16 { // else reading it would take longer for next to nothing
		return w.pack.add(id, compressed, len(b), w.buffer)
	}
	return w.pack.add(id, plain, len(b), b)
}

// list stores a list: as what has changed against its base, or as a whole.
func (w *putting) list(base *basis, l list) (ID, error) {
	if len(base.last.ids) > 0 && len(base.patches) == 0 && slices.Equal(base.last.list, l) {
		return base.last.ids[0], nil
	}
	best := encodeList(l, 0, zero, nil, nil)
	if base.depth > 0 {
		if b := encodeList(l, base.depth, base.id, base.list, base.patches); base.relied || len(b) < len(best)/2 {
			best = b
		}
	}
	id := idOf(best)
	if _, known := w.s.find(id); known || w.fresh[id] {
		return id, nil
	}
	return id, w.add(id, best)
}
