// Package stateio is put into gVisor's of that name by the build.
package stateio

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
)

// pagesWriter is an AsyncReader that takes a checkpoint's pages from a mapping of their file, and writes them into the file of the sandbox's memory. gVisor's own reads them
// to where that file is mapped, which costs a page fault and a page of zeros for every 4 KiB: more than twice the time. It does one read at a time, in Wait.
type pagesWriter struct {
	fd    int32
	pages []byte
	// What Wait is to do. Its places, in order, are as long as it all together.
	pending bool
	id      int
	from    int64
	to      int32
	places  []memmap.FileRange
	place   [1]memmap.FileRange
	written []int32 // our descriptors of the files that are written to
	done    atomic.Int64
}

// NewPagesWriter owns the descriptor from now on. What cannot be mapped is read as gVisor does.
func NewPagesWriter(fd int32) AsyncReader {
	var stat unix.Stat_t
	if err := unix.Fstat(int(fd), &stat); err != nil || stat.Size <= 0 {
		return NewPagesFileFDReaderDefault(fd)
	}
	pages, err := unix.Mmap(int(fd), 0, int(stat.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return NewPagesFileFDReaderDefault(fd)
	}
	return &pagesWriter{fd: fd, pages: pages}
}

// At returns a part of the pages as it is mapped, which is not to be written to, and nil for what is not there. It is valid until Close.
func (w *pagesWriter) At(off, length uint64) []byte {
	if off > uint64(len(w.pages)) || length > uint64(len(w.pages))-off {
		return nil
	}
	return w.pages[off : off+length : off+length]
}

// Skip says that so many bytes will not be read.
func (w *pagesWriter) Skip(n uint64) { w.advance(n) }

// advance makes the descriptor's offset how much of the file is in memory or will never be. The supervisor reads there how much is not (backend/sandbox/stats.go).
func (w *pagesWriter) advance(n uint64) {
	_, _ = unix.Seek(int(w.fd), w.done.Add(int64(n)), unix.SEEK_SET)
}

func (w *pagesWriter) MaxReadBytes() uint64            { return pagesFileFDDefaultMaxIOBytes }
func (w *pagesWriter) MaxRanges() int                  { return pagesFileFDDefaultMaxIOBytes >> 12 }
func (w *pagesWriter) MaxParallel() int                { return 1 }
func (w *pagesWriter) NeedRegisterDestinationFD() bool { return true }

func (w *pagesWriter) RegisterDestinationFD(fd int32, _ uint64, _ []ClientFileRangeSetting) (DestinationFile, error) {
	own, err := unix.Dup(int(fd))
	if err != nil {
		return nil, fmt.Errorf("a descriptor for the memory's file: %w", err)
	}
	w.written = append(w.written, int32(own))
	return int32(own), nil
}

func (w *pagesWriter) AddRead(id int, off int64, to DestinationFile, place memmap.FileRange, _ []byte) {
	w.place[0] = place
	w.AddReadv(id, off, place.Length(), to, w.place[:], nil)
}

func (w *pagesWriter) AddReadv(id int, off int64, _ uint64, to DestinationFile, places []memmap.FileRange, _ []unix.Iovec) {
	w.pending, w.id, w.from, w.to, w.places = true, id, off, to.(int32), places
}

func (w *pagesWriter) Wait(done []Completion, _ int) ([]Completion, error) {
	if !w.pending {
		return done, nil
	}
	w.pending = false
	c := Completion{ID: w.id}
	for _, place := range w.places {
		var n uint64
		n, c.Err = w.write(w.from+int64(c.N), place)
		c.N += n
		if c.Err != nil {
			break
		}
	}
	w.advance(c.N)
	return append(done, c), nil
}

// write fills a place with the pages from an offset on, and returns how many bytes of it. A file that has become shorter than its mapping is an error of the system call, not a signal.
func (w *pagesWriter) write(from int64, place memmap.FileRange) (uint64, error) {
	if from < 0 || from > int64(len(w.pages)) || place.Length() > uint64(int64(len(w.pages))-from) {
		return 0, io.ErrUnexpectedEOF
	}
	rest := w.pages[from : from+int64(place.Length())]
	for len(rest) > 0 {
		n, err := unix.Pwrite(int(w.to), rest, int64(place.End)-int64(len(rest)))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return place.Length() - uint64(len(rest)), err
		}
		rest = rest[n:]
	}
	return place.Length(), nil
}

func (w *pagesWriter) Close() error {
	for _, fd := range w.written {
		_ = unix.Close(int(fd)) // what was written is in memory
	}
	return errors.Join(unix.Munmap(w.pages), unix.Close(int(w.fd)))
}
