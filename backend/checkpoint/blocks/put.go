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

// Put keeps the files of those names in the folder dir, and writes what they are made of to the file recipe. near, which may be "" or gone, is
// the recipe of files that have much in common with them. On an error nothing is kept. The files must not change meanwhile.
//
// It works on one processor, stands back for who is in a rush, and takes some MiB of memory, and 70 bytes for each block.
func (s *Store) Put(ctx context.Context, dir string, names []string, near, recipe string, meta json.RawMessage) (Recipe, error) {
	release, err := s.share(ctx)
	if err != nil {
		return Recipe{}, err
	}
	defer release()
	w := putting{s: s, ctx: ctx, pack: packer{disk: s.disk, dir: s.dir}, fresh: map[ID]bool{}, encoder: newEncoder()}
	defer w.pack.abort()
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
		f, err := w.file(filepath.Join(dir, name))
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
	buffer  []byte // for what is compressed
}

// segment is how much of a file is looked at in one go.
const segment = 1 << 20

var zeros = make([]byte, Unit)

// file keeps one file.
func (w *putting) file(path string) (File, error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return File{}, err
	}
	f := File{Name: filepath.Base(path), Size: info.Size()}
	if f.Size == 0 {
		return f, nil
	}
	if !info.Mode().IsRegular() || f.Size > maxUnits*Unit {
		return f, fmt.Errorf("%w: it is no file, or too large", ErrDamaged)
	}
	l := make(list, 0, f.units())
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
			if at.pack != nil || id == zero || w.fresh[id] {
				continue
			}
			if err := w.add(id, chunk[i*Unit:min(n, (i+1)*Unit)]); err != nil {
				return f, err
			}
		}
	}
	f.List, err = w.list(f, l)
	return f, err
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

// list stores a list: as what has changed against the file of that name nearby, or against the end of its chain, or as a whole.
func (w *putting) list(f File, l list) (ID, error) {
	whole := encodeList(l, 0, zero, nil)
	best := whole
	for i := range w.near.Files {
		n := &w.near.Files[i]
		if n.Name != f.Name || n.Size == 0 {
			continue
		}
		c, err := w.s.chain(n.List, n.units())
		if err != nil {
			break // it is damaged: this one is not to be
		}
		if slices.Equal(c.list, l) {
			return n.List, nil
		}
		base, baseList, depth := n.List, c.list, len(c.ids)
		if depth > maxDepth {
			base, baseList, depth = c.ids[len(c.ids)-1], c.end, 1
		}
		if b := encodeList(l, depth, base, baseList); len(b) < len(whole)/2 {
			best = b
		}
	}
	id := idOf(best)
	if _, known := w.s.find(id); known || w.fresh[id] {
		return id, nil
	}
	return id, w.add(id, best)
}
