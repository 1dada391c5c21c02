package blocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// decoders are shared: making one takes as long as reading a thousand blocks.
var decoders = sync.Pool{New: func() any { return newDecoder() }}

// Like is a folder in which files lie as they were put, and their recipe; the zero value is none.
type Like struct {
	Dir    string
	Recipe Recipe
	// Sound says whether b, read from the file of that name at an offset, is as it was put. Where
	// it says no, or is nil, b is compared with the names of its blocks, which takes longer.
	Sound func(name string, at int64, b []byte) bool
}

// Restore writes the files of a recipe into the folder dir, byte for byte as they were put, or
// fails with ErrDamaged. They are not synced: who lost them restores them again. It works on all
// processors. What they have in common with those that are there is copied from them, which takes
// half of the time where that is most of it, and a quarter where they are sound; where these have
// changed, blocks count.
func (s *Store) Restore(ctx context.Context, r Recipe, dir string, like Like) error {
	release, err := s.share(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.refresh(); err != nil {
		return err
	}
	for i := range r.Files {
		if err := s.restoreFile(ctx, &r.Files[i], filepath.Join(dir, r.Files[i].Name), like); err != nil {
			return fmt.Errorf("%s: %w", r.Files[i].Name, s.explain(err))
		}
	}
	return nil
}

// explain says that blocks may be missing because packs cannot be read.
func (s *Store) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, ErrDamaged) {
		for _, why := range s.broken {
			err = errors.Join(err, why)
		}
	}
	return err
}

// piece is how many units one worker restores at a time.
const piece = 256

func (s *Store) restoreFile(ctx context.Context, f *File, path string, like Like) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if f.Size == 0 {
		return nil
	}
	chain, err := s.of(f)
	if err != nil {
		return err
	}
	if chain.frame != nil {
		_, err := out.Write(chain.frame)
		return err
	}
	chain.end = nil                              // it may be large
	if err := out.Truncate(f.Size); err != nil { // what is not written are zeros
		return err
	}
	twin := s.twin(like, f.Name)
	defer twin.close()
	work := restoring{s: s, list: chain.list, pages: chain.patched, size: f.Size, out: out, twin: twin}
	return work.all(ctx, runtime.GOMAXPROCS(0), func(context.Context) {})
}

// Verify reads everything that the files of a recipe are made of, and fails with ErrDamaged where
// they could not be restored. What it has read is not read again as long as the index stays in
// memory, so that one after another of files that have most in common costs little. It works on one
// processor, and stands back for who is in a rush.
func (s *Store) Verify(ctx context.Context, r Recipe) error {
	release, err := s.share(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.refresh(); err != nil {
		return err
	}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Size == 0 {
			continue
		}
		chain, err := s.of(f)
		if err == nil {
			err = s.verify(ctx, chain.list, chain.patched, f.Size)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, s.explain(err))
		}
	}
	return nil
}

func (s *Store) verify(ctx context.Context, l list, pages patchedPages, size int64) error {
	left := slices.Clone(l)
	s.each(left, func(id *ID, at place) {
		if at.pack != nil && at.pack.sound.has(int(at.at)) {
			*id = zero
		}
	})
	work := restoring{s: s, list: left, pages: pages, size: size, out: nowhere{}}
	if err := work.all(ctx, 1, s.rush.wait); err != nil {
		return err
	}
	s.each(left, func(_ *ID, at place) {
		if at.pack == nil {
			return
		}
		if at.pack.sound == nil {
			at.pack.sound = newBits(len(at.pack.entries))
		}
		at.pack.sound.set(int(at.at))
	})
	return nil
}

// each tells where the blocks of a list lie, all but those of zeros, with mu held for some at a
// time.
func (s *Store) each(l list, tell func(id *ID, at place)) {
	for some := range slices.Chunk(l, aFew) {
		s.mu.Lock()
		for i := range some {
			if some[i] != zero {
				tell(&some[i], s.index.find(some[i]))
			}
		}
		s.mu.Unlock()
	}
}

type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

// twin is a file that has much in common with one that is restored; nil where there is none.
type twin struct {
	file  input
	at    map[ID]int // which of its units are what
	sound func(at int64, b []byte) bool
}

// twin opens the file of that name among those that are there. It may be gone meanwhile, or its
// list damaged: then there is none.
func (s *Store) twin(like Like, name string) *twin {
	i := slices.IndexFunc(like.Recipe.Files, func(f File) bool { return f.Name == name && f.Size > 0 })
	if i < 0 {
		return nil
	}
	f := &like.Recipe.Files[i]
	chain, err := s.of(f)
	if err != nil || chain.frame != nil {
		return nil
	}
	file, err := s.disk.Open(filepath.Join(like.Dir, name))
	if err != nil {
		return nil
	}
	t := &twin{file, make(map[ID]int, len(chain.list)), func(at int64, b []byte) bool {
		return like.Sound != nil && like.Sound(name, at, b)
	}}
	for i, id := range chain.list[:f.Size/Unit] {
		if id != zero {
			t.at[id] = i
		}
	}
	return t
}

func (t *twin) close() {
	if t != nil {
		_ = t.file.Close() // it was only read
	}
}

// append adds to b the first units of l that lie one after another in the file, and are there as
// they were, and says how many these are.
func (t *twin) append(b []byte, l list) (longer []byte, n int) {
	if t == nil {
		return b, 0
	}
	first, ok := t.at[l[0]]
	if !ok {
		return b, 0
	}
	for n = 1; n < len(l); n++ {
		if at, ok := t.at[l[n]]; !ok || at != first+n {
			break
		}
	}
	from := len(b)
	b = slices.Grow(b, n*Unit)[:from+n*Unit]
	if _, err := t.file.ReadAt(b[from:], int64(first)*Unit); err != nil {
		return b[:from], 0
	}
	if t.sound(int64(first)*Unit, b[from:]) {
		return b, n
	}
	for i := range n {
		if idOf(b[from+i*Unit:][:Unit]) != l[i] {
			return b[:from+i*Unit], i
		}
	}
	return b, n
}

// restoring is the file of a list that is being written.
type restoring struct {
	s     *Store
	list  list
	pages patchedPages
	size  int64 // of the file, in bytes
	out   io.WriterAt
	twin  *twin

	next   atomic.Int64 // the unit from which on nobody is at work
	failed atomic.Pointer[error]
}

// all writes the file, on so many processors; on one, it is the caller's own goroutine that does.
// It calls wait before each MiB.
func (r *restoring) all(ctx context.Context, processors int, wait func(context.Context)) error {
	work := func() {
		w := restorer{restoring: r, decoder: decoders.Get().(*zstd.Decoder), packs: map[string]input{}, ready: make([]byte, 0, piece*Unit+len(atOnce{}))}
		defer w.done()
		for r.failed.Load() == nil {
			from := int(r.next.Add(piece)) - piece
			if from >= len(r.list) {
				return
			}
			wait(ctx)
			err := ctx.Err()
			if err == nil {
				err = w.piece(from, min(from+piece, len(r.list)))
			}
			if err != nil {
				r.failed.CompareAndSwap(nil, &err)
			}
		}
	}
	var others sync.WaitGroup
	for range min(processors, (len(r.list)+piece-1)/piece) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return *cmp.Or(r.failed.Load(), new(error))
}

// restorer is one worker.
type restorer struct {
	*restoring
	decoder *zstd.Decoder
	packs   map[string]input // that are open, by name

	ready  []byte // units that lie one after another, to be written in one go
	stored []byte
	raw    []byte // of one block
}

func (w *restorer) done() {
	decoders.Put(w.decoder)
	w.closePacks()
}

// piece writes the units from:to.
func (w *restorer) piece(from, to int) error {
	l := w.list[:to]
	var places []place
	begin := from
	write := func() error {
		if len(w.ready) == 0 {
			return nil
		}
		_, err := w.out.WriteAt(w.ready, int64(begin)*Unit)
		w.ready = w.ready[:0]
		return err
	}
	for i := from; i < to; {
		if l[i] == zero {
			if err := write(); err != nil {
				return err
			}
			i++
			begin = i
			continue
		}
		var n int
		if w.ready, n = w.twin.append(w.ready, l[i:]); n > 0 {
			i += n
			continue
		}
		if places == nil {
			places = w.s.findAll(l[from:])
		}
		first := places[i-from]
		if first.pack == nil {
			page, err := w.pages.page(l[i], w.block)
			if err != nil {
				return err
			}
			w.ready = append(w.ready, page...)
			i++
			continue
		}
		// What lies one after another is read in one go.
		n = 1
		for i+n < to && places[i+n-from] == (place{first.pack, first.at + int32(n)}) {
			n++
		}
		if err := w.run(first, n, int64(begin)*Unit); err != nil {
			return err
		}
		i += n
	}
	return write()
}

// manyPacks is how many a worker has open at once.
const manyPacks = 64

// open opens a pack, unless it is.
func (w *restorer) open(p *pack) (input, error) {
	if open := w.packs[p.name]; open != nil {
		return open, nil
	}
	if len(w.packs) == manyPacks {
		w.closePacks()
	}
	open, err := w.s.disk.Open(p.path)
	if err != nil {
		return nil, refused("the pack "+p.name, err)
	}
	w.packs[p.name] = open
	return open, nil
}

func (w *restorer) closePacks() {
	for _, open := range w.packs {
		_ = open.Close() // it was only read
	}
	clear(w.packs)
}

// block is the bytes of a block, good until the next call; nil where it is none.
func (w *restorer) block(id ID) ([]byte, error) {
	if b, n := w.twin.append(w.raw[:0], list{id}); n > 0 {
		w.raw = b
		return b, nil
	}
	at, ok := w.s.find(id)
	if !ok {
		return nil, nil
	}
	var err error
	w.raw, err = w.read(w.raw[:0], at, 1, nil)
	return w.raw, err
}

// run adds n blocks of a pack, from first on, to what is ready, which begins at that offset in the
// file.
func (w *restorer) run(first place, n int, offset int64) (err error) {
	w.ready, err = w.read(w.ready, first, n, func(e *entry, at int) error {
		if int(e.raw) != Unit && offset+int64(at)+int64(e.raw) != w.size {
			return damaged("block %s in the pack %s has another size than its place", e.id, first.pack.name)
		}
		return nil
	})
	return err
}

// read adds n blocks of a pack to b, from first on. Where fits is not nil, it is asked about each
// of them and where in b it comes.
func (w *restorer) read(b []byte, first place, n int, fits func(e *entry, at int) error) ([]byte, error) {
	file, err := w.open(first.pack)
	if err != nil {
		return b, err
	}
	entries := first.pack.entries[first.at : int(first.at)+n]
	start := int64(entries[0].offset)
	size := int(entries[n-1].end() - start)
	w.stored = slices.Grow(w.stored[:0], size)[:size]
	if err := first.pack.readAt(file, w.stored, start); err != nil {
		return b, err
	}
	for i := range entries {
		e := &entries[i]
		if fits != nil {
			if err := fits(e, len(b)); err != nil {
				return b, err
			}
		}
		if b, err = e.unpack(w.decoder, w.stored[int64(e.offset)+int64(headerSize)-start:][:e.stored], b); err != nil {
			return b, fmt.Errorf("the pack %s: %w", first.pack.name, err)
		}
	}
	return b, nil
}
