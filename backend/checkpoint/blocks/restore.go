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
	if err := out.Truncate(f.Size); err != nil { // what is not written are zeros
		return err
	}
	return s.writeAll(ctx, chain[0].list, f.Size, out)
}

// Verify reads everything that the files of a recipe are made of, and fails with ErrDamaged where they could not be restored.
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
			err = s.writeAll(ctx, chain[0].list, f.Size, nowhere{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, s.explain(err))
		}
	}
	return nil
}

type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }

// writeAll writes the blocks of l, a file of size bytes.
func (s *Store) writeAll(ctx context.Context, l list, size int64, out io.WriterAt) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(l)+piece-1)/piece) {
		workers.Go(func() {
			w := restoring{s: s, out: out, size: size, decoder: decoders.Get().(*zstd.Decoder)}
			defer w.done()
			for failed.Load() == nil {
				from := int(next.Add(piece)) - piece
				if from >= len(l) {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = w.piece(l, from, min(from+piece, len(l)))
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	workers.Wait()
	return *cmp.Or(failed.Load(), new(error))
}

// restoring is one worker.
type restoring struct {
	s       *Store
	out     io.WriterAt
	size    int64
	decoder *zstd.Decoder

	name   string // of pack
	pack   *os.File
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
			return damaged("block %s is missing", l[i])
		}
		n := 1
		for i+n < to && places[i+n-from] == (place{first.pack, first.at + int32(n)}) {
			n++
		}
		if err := w.run(first, n, int64(i)*Unit); err != nil {
			return fmt.Errorf("the pack %s: %w", first.pack.name, err)
		}
		i += n
	}
	return nil
}

// run writes n blocks of a pack from first on.
func (w *restoring) run(first place, n int, offset int64) error {
	if w.name != first.pack.name {
		if w.pack != nil {
			w.pack.Close()
		}
		var err error
		if w.pack, err = os.Open(first.pack.path); err != nil {
			w.name = ""
			return err
		}
		w.name = first.pack.name
	}
	entries := first.pack.entries[first.at : int(first.at)+n]
	start := int64(entries[0].offset)
	if need := int(entries[n-1].end() - start); cap(w.stored) < need {
		w.stored = make([]byte, need)
	}
	w.stored = w.stored[:entries[n-1].end()-start]
	if _, err := w.pack.ReadAt(w.stored, start); err != nil {
		return damaged("it cannot be read: %v", err)
	}
	w.raw = w.raw[:0]
	for i := range entries {
		e := &entries[i]
		if int(e.raw) != Unit && offset+int64(len(w.raw))+int64(e.raw) != w.size {
			return damaged("block %s has another size than its place", e.id)
		}
		var err error
		if w.raw, err = e.unpack(w.decoder, w.stored[int64(e.offset)-start+int64(headerSize):][:e.stored], w.raw); err != nil {
			return err
		}
	}
	_, err := w.out.WriteAt(w.raw, offset)
	return err
}
