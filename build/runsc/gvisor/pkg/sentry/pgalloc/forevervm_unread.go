// ForeverVM's part of gVisor: the patch "unread memory" (build/runsc/patches) calls this.

package pgalloc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/errors/linuxerr"
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/safemem"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
	"gvisor.dev/gvisor/pkg/sync"
	"gvisor.dev/gvisor/pkg/syncevent"
)

// unreadSources is held for reading by who writes a checkpoint, which may write from a mapping of
// an older one's pages, and for writing by who unmaps one.
var unreadSources sync.RWMutex

const (
	// NeededUnit is in what pieces of a memory file, in bytes, it is noted which are needed first.
	NeededUnit = 16 << 10
	// mostNeeded is how many of them there may be.
	mostNeeded = 4096
	// neededFirst is how long after a restore what is used counts as needed first.
	neededFirst = time.Second
)

// needed remembers which parts of a memory file were used right after it was restored. Each
// checkpoint says which, and the next restore reads them while the kernel's state is decoded: what
// one instruction uses of the interpreter, the next one uses, too.
type needed struct {
	mu     sync.Mutex
	until  time.Time
	units  map[uint64]struct{} // since the restore
	before []uint64            // what an earlier life has noted
	ahead  sync.WaitGroup      // until it has been read
}

func (n *needed) note(fr memmap.FileRange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.units) >= mostNeeded || time.Now().After(n.until) || fr.Length() > mostNeeded*NeededUnit {
		return
	}
	for unit := fr.Start / NeededUnit; unit*NeededUnit < fr.End; unit++ {
		n.units[unit] = struct{}{}
	}
}

// save writes what was noted. A life in which nothing was done, as it seems, leaves it as it was.
func (n *needed) save(w io.Writer) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	units := n.before
	if len(n.units) > len(units)/2 {
		units = slices.Sorted(maps.Keys(n.units))
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(units))); err != nil {
		return fmt.Errorf("failed to write what is needed first: %w", err)
	}
	return binary.Write(w, binary.LittleEndian, units)
}

// load reads what an earlier life has noted, and begins to note.
func (n *needed) load(r io.Reader) error {
	var count uint64
	if err := binary.Read(r, binary.LittleEndian, &count); err != nil {
		return fmt.Errorf("failed to read what is needed first: %w", err)
	}
	if count > 2*mostNeeded {
		return fmt.Errorf("%d parts of the memory are said to be needed first", count)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until, n.units, n.before = time.Now().Add(neededFirst), map[uint64]struct{}{}, make([]uint64, count)
	return binary.Read(r, binary.LittleEndian, n.before)
}

// ranges returns what an earlier life has noted.
func (n *needed) ranges() (rs []memmap.FileRange) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, unit := range n.before {
		if unit > math.MaxUint64/NeededUnit-1 {
			continue
		}
		fr := memmap.FileRange{Start: unit * NeededUnit, End: (unit + 1) * NeededUnit}
		if last := len(rs) - 1; last >= 0 && rs[last].End == fr.Start {
			rs[last].End = fr.End
		} else {
			rs = append(rs, fr)
		}
	}
	return rs
}

// awaitLoad blocks until data has been loaded for all pages in fr.
//
// Preconditions: At least one reference must be held on all unloaded pages in fr.
func (amfl *asyncMemoryFileLoad) awaitLoad(fr memmap.FileRange) error {
	amfl.f.needed.note(fr)
	return amfl.await(fr)
}

// JustRestored says whether it is noted what is used.
func (f *MemoryFile) JustRestored() bool {
	f.needed.mu.Lock()
	defer f.needed.mu.Unlock()
	return len(f.needed.units) < mostNeeded && !time.Now().After(f.needed.until)
}

// NoteMapped notes that used is used, and that of all that is mapped with it, whose use nobody sees,
// what an earlier life has noted still is.
func (f *MemoryFile) NoteMapped(used, all memmap.FileRange) {
	if !f.JustRestored() {
		return
	}
	f.needed.note(used)
	n := &f.needed
	n.mu.Lock()
	defer n.mu.Unlock()
	first, _ := slices.BinarySearch(n.before, all.Start/NeededUnit)
	for _, unit := range n.before[first:] {
		if unit*NeededUnit >= all.End || len(n.units) >= mostNeeded {
			return
		}
		n.units[unit] = struct{}{}
	}
}

// readAhead has what is needed first read, as far as it is still there. It returns at once.
func (amfl *asyncMemoryFileLoad) readAhead() {
	amfl.f.needed.ahead.Add(1)
	go func() {
		defer amfl.f.needed.ahead.Done()
		for _, fr := range amfl.f.needed.ranges() {
			for _, unread := range amfl.hold(fr) {
				_ = amfl.await(unread) // a failure is told to who uses it
				amfl.f.DecRef(unread)
			}
		}
	}()
}

// hold takes references on what of fr has not been read, so that it is not released while it is.
func (amfl *asyncMemoryFileLoad) hold(fr memmap.FileRange) (unread []memmap.FileRange) {
	amfl.f.mu.Lock()
	defer amfl.f.mu.Unlock()
	amfl.pf.mu.Lock()
	defer amfl.pf.mu.Unlock()
	for seg := amfl.unloaded.LowerBoundSegment(fr.Start); seg.Ok() && seg.Start() < fr.End; seg = seg.NextSegment() {
		part := seg.Range().Intersect(fr)
		amfl.f.incRefLocked(part)
		unread = append(unread, part)
	}
	return unread
}

// errUnread is why a checkpoint that could not be made from an older one is none.
var errUnread = errors.New("memory could not be read from the checkpoint that it is still in")

// unreadable is set once something could not be read for a checkpoint. It never can be, then, and
// the sandbox is about to end.
var unreadable atomic.Bool

// finalize completes a checkpoint's pages.
func (apfs *AsyncPagesFileSave) finalize() error {
	if unreadable.Load() {
		return errUnread
	}
	return apfs.aw.Finalize()
}

// unawaited returns where to go on with reading what nobody waits for: nowhere.
func (amfl *asyncMemoryFileLoad) unawaited() aplUnloadedIterator {
	return aplUnloadedIterator{}
}

// waitForWork waits until there is something to read, or all has been read and nothing comes any
// more.
func (apfl *AsyncPagesFileLoad) waitForWork() syncevent.Set {
	ev := apfl.lfStatus.Wait()
	if ev&aplLFPending == 0 && !apfl.allLoaded() {
		ev = apfl.lfStatus.WaitFor(aplLFPending)
	}
	return ev
}

func (apfl *AsyncPagesFileLoad) allLoaded() bool {
	apfl.amflsMu.Lock()
	defer apfl.amflsMu.Unlock()
	apfl.mu.Lock()
	defer apfl.mu.Unlock()
	for amfl := apfl.amfls.Front(); amfl != nil; amfl = amfl.Next() {
		if !amfl.unloaded.IsEmpty() {
			return false
		}
	}
	return true
}

func (apfl *AsyncPagesFileLoad) closeReader() error {
	unreadSources.Lock()
	defer unreadSources.Unlock()
	return apfl.ar.Close()
}

// found counts so many bytes that have yet to be read. What is a file's, and not memory, the reader
// leaves out.
func (amfl *asyncMemoryFileLoad) found(n uint64) {
	amfl.unread.Add(n)
	if amfl.f.IsDiskBacked() {
		amfl.leaveOut(n)
	}
}

// gone counts so many bytes that have been read, or released before that.
func (amfl *asyncMemoryFileLoad) gone(n uint64) {
	amfl.unread.Add(-n)
	if !amfl.f.IsDiskBacked() {
		amfl.leaveOut(n)
	}
}

// leaveOut tells the reader that so many bytes are no memory that is yet to be read.
func (amfl *asyncMemoryFileLoad) leaveOut(n uint64) {
	if r, ok := amfl.pf.ar.(interface{ LeaveOut(n uint64) }); ok {
		r.LeaveOut(n)
	}
}

// settle waits until nothing is read ahead, whose references a checkpoint would keep forever, and
// returns why what has not been read never will be.
func (f *MemoryFile) settle() error {
	f.needed.ahead.Wait()
	if amfl := f.asyncPageLoad.Load(); amfl != nil {
		return amfl.pf.err()
	}
	return nil
}

// IsLoaded says whether all of fr has been read.
//
// Preconditions: At least one reference must be held on all pages in fr.
func (f *MemoryFile) IsLoaded(fr memmap.FileRange) bool {
	amfl := f.asyncPageLoad.Load()
	if amfl == nil || fr.End <= amfl.minUnloaded.Load() {
		return true
	}
	fr = memmap.FileRange{Start: hostarch.PageRoundDown(fr.Start), End: hostarch.MustPageRoundUp(fr.End)}
	amfl.pf.mu.Lock()
	defer amfl.pf.mu.Unlock()
	return amfl.unloaded.IsEmptyRange(fr)
}

// LoadedAround returns fr with what borders on it and has been read, as far as within.
//
// Preconditions: as of IsLoaded, for within, which is a superset of fr.
func (f *MemoryFile) LoadedAround(fr, within memmap.FileRange) memmap.FileRange {
	amfl := f.asyncPageLoad.Load()
	if amfl == nil {
		return within
	}
	amfl.pf.mu.Lock()
	defer amfl.pf.mu.Unlock()
	if fr.Start > within.Start {
		if seg := amfl.unloaded.UpperBoundSegment(fr.Start - 1); seg.Ok() {
			within.Start = max(within.Start, min(seg.End(), fr.Start))
		}
	}
	if seg := amfl.unloaded.LowerBoundSegment(fr.End); seg.Ok() {
		within.End = max(fr.End, min(seg.Start(), within.End))
	}
	return within
}

// AwaitLoad has all of fr read.
//
// Preconditions: At least one reference must be held on all pages in fr.
func (f *MemoryFile) AwaitLoad(fr memmap.FileRange) error {
	if amfl := f.asyncPageLoad.Load(); amfl != nil {
		return amfl.awaitLoad(fr)
	}
	return nil
}

// MapUnread is MapInternal for who calls AwaitLoad for each part before using it.
func (f *MemoryFile) MapUnread(fr memmap.FileRange, at hostarch.AccessType) (safemem.BlockSeq, error) {
	if at.Execute {
		return safemem.BlockSeq{}, linuxerr.EACCES
	}
	var blocks []safemem.Block
	f.forEachMappingSlice(fr, func(bs []byte) {
		blocks = append(blocks, safemem.BlockFromSafeSlice(bs))
	})
	return safemem.BlockSeqFromSlice(blocks), nil
}

// forEachSavedSlice is forEachMappingSlice, with what has not been read where it can be read from.
func (f *MemoryFile) forEachSavedSlice(fr memmap.FileRange, fn func([]byte)) {
	amfl := f.asyncPageLoad.Load()
	if amfl == nil {
		f.forEachMappingSlice(fr, fn)
		return
	}
	source, readable := amfl.pf.ar.(interface {
		At(off, length uint64) []byte
	})
	for at := fr.Start; at < fr.End; {
		part, unread, from := memmap.FileRange{Start: at, End: fr.End}, false, []byte(nil)
		amfl.pf.mu.Lock()
		if seg := amfl.unloaded.LowerBoundSegment(at); seg.Ok() && seg.Start() < fr.End {
			if unread = seg.Start() <= at; unread {
				part = part.Intersect(seg.Range())
			} else {
				part.End = seg.Start()
			}
			if unread && readable && !seg.ValuePtr().started {
				from = source.At(seg.ValuePtr().off+at-seg.Start(), part.Length())
			}
		}
		amfl.pf.mu.Unlock()
		if unread && from == nil { // it is just being read, or cannot be taken from where it is
			if err := amfl.await(part); err != nil {
				unreadable.Store(true)
			}
		}
		if from != nil {
			fn(from)
		} else {
			f.forEachMappingSlice(part, fn)
		}
		at = part.End
	}
}
