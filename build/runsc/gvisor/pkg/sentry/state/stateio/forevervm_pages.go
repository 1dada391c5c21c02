// ForeverVM's part of gVisor: the patch "checked pages" (build/runsc/patches) calls this.

package stateio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/fd"
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
)

// pagesWriter is an AsyncReader that reads a checkpoint's pages, checks them, and writes them into
// the file of the sandbox's memory. gVisor's own reads them to where that file is mapped, which
// costs a page fault and a page of zeros for every 4 KiB: more than twice the time. It does one
// read at a time, in Wait.
type pagesWriter struct {
	fd     int32
	pages  []byte   // the file as it is mapped
	sums   []uint32 // of each page
	buffer []byte   // what was read and checked
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

// damaged is what the panic log says where a page is not what was saved. The supervisor looks for
// it (backend/sandbox/ending.go).
const damaged = "forevervm: saved pages are damaged"

// sumsFile is the place of the pages' checksums among the files that a restore is given
// (the patch's change of runsc/sandbox/sandbox.go).
const sumsFile = 3

// NewPagesWriter owns the descriptor from now on. passed gives out the other files of the
// checkpoint.
func NewPagesWriter(pagesFD int32, passed func(i int) (*fd.FD, error)) AsyncReader {
	w := &pagesWriter{fd: pagesFD, buffer: make([]byte, pagesFileFDDefaultMaxIOBytes)}
	if err := w.open(passed); err != nil {
		giveUp(err.Error())
	}
	return w
}

func (w *pagesWriter) open(passed func(i int) (*fd.FD, error)) error {
	file, err := passed(sumsFile)
	if err != nil {
		return err
	}
	defer file.Close()
	sums, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(w.fd), &stat); err != nil {
		return err
	}
	if stat.Size%hostarch.PageSize != 0 || int64(len(sums)) != stat.Size/hostarch.PageSize*4 {
		return fmt.Errorf("%d bytes of pages have %d bytes of checksums", stat.Size, len(sums))
	}
	w.sums = make([]uint32, len(sums)/4)
	for i := range w.sums {
		w.sums[i] = binary.LittleEndian.Uint32(sums[i*4:])
	}
	if stat.Size > 0 {
		w.pages, err = unix.Mmap(int(w.fd), 0, int(stat.Size), unix.PROT_READ, unix.MAP_SHARED)
	}
	return err
}

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// check ends the sandbox where pages that were read at an offset are not those that were saved:
// nobody may get to see them.
func (w *pagesWriter) check(off uint64, pages []byte) {
	for ; len(pages) > 0; off, pages = off+hostarch.PageSize, pages[hostarch.PageSize:] {
		if crc32.Checksum(pages[:hostarch.PageSize], castagnoli) != w.sums[off/hostarch.PageSize] {
			giveUp(fmt.Sprintf("offset %d", off))
		}
	}
}

// giveUp ends the sandbox. Its stderr is the panic log, which no program inside can write to.
func giveUp(why string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", damaged, why)
	os.Exit(1)
}

// At returns a part of the pages as it is mapped, which is not to be written to, and nil for what
// is not there. It is valid until Close.
func (w *pagesWriter) At(off, length uint64) []byte {
	if off > uint64(len(w.pages)) || length > uint64(len(w.pages))-off {
		return nil
	}
	part := w.pages[off : off+length : off+length]
	w.check(off, part)
	return part
}

// LeaveOut says that so many bytes more are in memory, or will never be. The descriptor's offset is
// how many those are; the supervisor reads there how many are not (backend/sandbox/stats.go).
func (w *pagesWriter) LeaveOut(n uint64) {
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
	return append(done, c), nil //nolint:nilerr // the completion has it
}

// write fills a place with the pages from an offset on, and returns how many bytes of it. They are
// checked as they were read: what lies in the system's memory may be read from the disk once more.
func (w *pagesWriter) write(from int64, place memmap.FileRange) (uint64, error) {
	if from < 0 || from > int64(len(w.pages)) || place.Length() > uint64(int64(len(w.pages))-from) || from%hostarch.PageSize != 0 {
		return 0, io.ErrUnexpectedEOF
	}
	for done := uint64(0); done < place.Length(); {
		part := w.buffer[:min(uint64(len(w.buffer)), place.Length()-done)]
		err := whole(part, func(rest []byte, at int64) (int, error) { return unix.Pread(int(w.fd), rest, from+int64(done)+at) })
		if err != nil {
			giveUp(fmt.Sprintf("offset %d: %v", from+int64(done), err))
		}
		w.check(uint64(from)+done, part)
		err = whole(part, func(rest []byte, at int64) (int, error) {
			return unix.Pwrite(int(w.to), rest, int64(place.Start+done)+at)
		})
		if err != nil {
			return done, err
		}
		done += uint64(len(part))
	}
	return place.Length(), nil
}

// whole goes on reading or writing until it is done with all of b.
func whole(b []byte, some func(rest []byte, at int64) (int, error)) error {
	for at := 0; at < len(b); {
		n, err := some(b[at:], int64(at))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

func (w *pagesWriter) Close() error {
	for _, fd := range w.written {
		_ = unix.Close(int(fd)) // what was written is in memory
	}
	if len(w.pages) == 0 {
		return unix.Close(int(w.fd))
	}
	return errors.Join(unix.Munmap(w.pages), unix.Close(int(w.fd)))
}
