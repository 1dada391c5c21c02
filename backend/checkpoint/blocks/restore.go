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

// Restore writes the files of a recipe into the folder dir, byte for byte as they were put, or fails with ErrDamaged. They are not synced: who
// lost them restores them again. It works on all processors.
func (s *Store) Restore(ctx context.Context, r Recipe, dir string) error {
	release, err := s.share(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.refresh(); err != nil {
		return err
	}
	for i := range r.Files {
		if err := s.restoreFile(ctx, &r.Files[i], filepath.Join(dir, r.Files[i].Name)); err != nil {
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

func (s *Store) restoreFile(ctx context.Context, f *File, path string) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if f.Size == 0 {
		return nil
	}
	chain, err := s.chain(f.List, f.units())
	if err != nil {
		return err
	}
	chain.end = nil                              // it may be large
	if err := out.Truncate(f.Size); err != nil { // what is not written are zeros
		return err
	}
	return s.writeAll(ctx, chain.list, chain.patched, f.Size, out, runtime.GOMAXPROCS(0), func(context.Context) {})
}

// Verify reads everything that the files of a recipe are made of, and fails with ErrDamaged where they could not be restored. What it has read is not
// read again as long as the index stays in memory, so that one after another of files that have most in common costs little. It works on one processor, and
// stands back for who is in a rush.
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
		chain, err := s.chain(f.List, f.units())
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
	if err := s.writeAll(ctx, left, pages, size, nowhere{}, 1, s.rush.wait); err != nil {
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

// each tells where the blocks of a list lie, all but those of zeros, with mu held for some at a time.
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

// writeAll writes the blocks and pages of l, a file of size bytes, on so many processors; on one, it is the caller's own goroutine that does. It calls wait before
// each MiB.
func (s *Store) writeAll(ctx context.Context, l list, pages patchedPages, size int64, out io.WriterAt, processors int, wait func(context.Context)) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		w := restoring{s: s, out: out, size: size, pages: pages, decoder: decoders.Get().(*zstd.Decoder)}
		defer w.done()
		for failed.Load() == nil {
			from := int(next.Add(piece)) - piece
			if from >= len(l) {
				return
			}
			wait(ctx)
			err := ctx.Err()
			if err == nil {
				err = w.piece(l, from, min(from+piece, len(l)))
			}
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		}
	}
	var others sync.WaitGroup
	for range min(processors, (len(l)+piece-1)/piece) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return *cmp.Or(failed.Load(), new(error))
}

// restoring is one worker.
type restoring struct {
	s       *Store
	out     io.WriterAt
	size    int64
	pages   patchedPages
	decoder *zstd.Decoder

	name   string // of pack
	pack   input
	stored []byte
	raw    []byte
}

func (w *restoring) done() {
	decoders.Put(w.decoder)
	if w.pack != nil {
		w.pack.Close()
	}
}

// piece writes the blocks l[from:to].
func (w *restoring) piece(l list, from, to int) error {
	places := w.s.findAll(l[from:to])
	for i := from; i < to; {
		if l[i] == zero {
			i++
			continue
		}
		// What lies one after another is read, and written, in one go.
		first := places[i-from]
		if first.pack == nil {
			page, err := w.pages.page(l[i], w.block)
			if err != nil {
				return err
			}
			if _, err := w.out.WriteAt(page, int64(i)*Unit); err != nil {
				return err
			}
			i++
			continue
		}
		n := 1
		for i+n < to && places[i+n-from] == (place{first.pack, first.at + int32(n)}) {
			n++
		}
		if err := w.run(first, n, int64(i)*Unit); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// open has a pack open, the only one.
func (w *restoring) open(p *pack) (err error) {
	if w.name == p.name {
		return nil
	}
	if w.pack != nil {
		w.pack.Close()
	}
	if w.pack, err = w.s.disk.Open(p.path); err != nil {
		w.name, w.pack = "", nil
		return refused("the pack "+p.name, err)
	}
	w.name = p.name
	return nil
}

// block is the bytes of a block, good until the next call; nil where it is none.
func (w *restoring) block(id ID) ([]byte, error) {
	at, ok := w.s.find(id)
	if !ok {
		return nil, nil
	}
	if err := w.open(at.pack); err != nil {
		return nil, err
	}
	e := &at.pack.entries[at.at]
	if cap(w.stored) < int(e.stored) {
		w.stored = make([]byte, e.stored)
	}
	w.stored = w.stored[:e.stored]
	if err := at.pack.readAt(w.pack, w.stored, int64(e.offset)+int64(headerSize)); err != nil {
		return nil, err
	}
	var err error
	if w.raw, err = e.unpack(w.decoder, w.stored, w.raw[:0]); err != nil {
		return nil, fmt.Errorf("the pack %s: %w", at.pack.name, err)
	}
	return w.raw, nil
}

// run writes n blocks of a pack from first on.
func (w *restoring) run(first place, n int, offset int64) error {
	if err := w.open(first.pack); err != nil {
		return err
	}
	entries := first.pack.entries[first.at : int(first.at)+n]
	start := int64(entries[0].offset)
	if need := int(entries[n-1].end() - start); cap(w.stored) < need {
		w.stored = make([]byte, need)
	}
	w.stored = w.stored[:entries[n-1].end()-start]
	if err := first.pack.readAt(w.pack, w.stored, start); err != nil {
		return err
	}
	w.raw = w.raw[:0]
	for i := range entries {
		e := &entries[i]
		if int(e.raw) != Unit && offset+int64(len(w.raw))+int64(e.raw) != w.size {
			return damaged("block %s in the pack %s has another size than its place", e.id, first.pack.name)
		}
		var err error
		if w.raw, err = e.unpack(w.decoder, w.stored[int64(e.offset)-start+int64(headerSize):][:e.stored], w.raw); err != nil {
			return fmt.Errorf("the pack %s: %w", first.pack.name, err)
		}
	}
	_, err := w.out.WriteAt(w.raw, offset)
	return err
}
