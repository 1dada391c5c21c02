// ForeverVM's part of gVisor: the patch "unread memory" (build/runsc/patches) calls this.

package mm

import (
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/sentry/pgalloc"
)

const (
	// unreadUnit is how much of a restored memory is read, in bytes, where something of it is used.
	unreadUnit = 256 << 10
	// inARow is how much is read where that much before it is in memory: a large object is gone
	// through from its begin.
	inARow = 2 << 20
	// mappedUnit bounds what is mapped at once, in bytes, where part of it is not in memory.
	mappedUnit = 2 << 20
)

// unitToRead is how much is read where something is used. It is little right after a restore: what
// machines use then was mostly read ahead.
func unitToRead(mf *pgalloc.MemoryFile) hostarch.Addr {
	if mf.JustRestored() {
		return pgalloc.NeededUnit
	}
	return unreadUnit
}

// toMap returns what is mapped for the application where it uses ar: all that gVisor would map
// anyway where that is in memory, else the units of ar with what borders on them and is in memory.
//
// Preconditions: as of mapASLocked.
func toMap(pseg pmaIterator, ar hostarch.AddrRange) hostarch.AddrRange {
	const most = 32 << 20 // of gVisor's
	mf, ok := pseg.ValuePtr().file.(*pgalloc.MemoryFile)
	if !ok || pseg.Start() >= ar.End {
		return around(ar, most)
	}
	units := around(ar, unitToRead(mf))
	mapped := around(ar, most)
	switch {
	case pseg.isLoaded(mapped):
	case !mf.JustRestored() && ar.Start >= inARow && pseg.isLoaded(hostarch.AddrRange{Start: ar.Start - inARow, End: ar.Start}):
		mapped = around(ar, inARow)
		units = mapped
	default:
		mapped = units
		read := pseg.fileRangeOf(units.Intersect(pseg.Range()))
		all := mf.LoadedAround(read, pseg.fileRangeOf(around(ar, mappedUnit).Intersect(pseg.Range())))
		mapped.Start -= hostarch.Addr(read.Start - all.Start)
		mapped.End += hostarch.Addr(all.End - read.End)
	}
	mf.NoteMapped(pseg.fileRangeOf(units.Intersect(pseg.Range())), pseg.fileRangeOf(mapped.Intersect(pseg.Range())))
	return mapped
}

// around is ar, rounded to multiples of a unit.
func around(ar hostarch.AddrRange, unit hostarch.Addr) hostarch.AddrRange {
	r := hostarch.AddrRange{Start: ar.Start &^ (unit - 1), End: (ar.End + unit - 1) &^ (unit - 1)}
	if r.End < ar.End { // it does not go further
		r.End = ar.End
	}
	return r
}

// isLoaded says whether what ar has in common with pseg has been read from the checkpoint.
//
// Preconditions: mm.activeMu must be locked.
func (pseg pmaIterator) isLoaded(ar hostarch.AddrRange) bool {
	mf, ok := pseg.ValuePtr().file.(*pgalloc.MemoryFile)
	if !ok || !mf.IsAsyncLoading() {
		return true
	}
	ar = ar.Intersect(pseg.Range())
	return ar.Length() == 0 || mf.IsLoaded(pseg.fileRangeOf(ar))
}

// getInternalMappingsOfLocked is getInternalMappingsLocked for who uses ar of them: nothing else
// needs to have been read.
//
// Preconditions:
//   - mm.activeMu must be locked for writing.
//   - pseg.Range().IsSupersetOf(ar).
//   - ar.Length() != 0.
func (pseg pmaIterator) getInternalMappingsOfLocked(ar hostarch.AddrRange) error {
	pma := pseg.ValuePtr()
	mf, ok := pma.file.(*pgalloc.MemoryFile)
	if !ok || !mf.IsAsyncLoading() {
		return pseg.getInternalMappingsLocked()
	}
	if pma.internalMappings.IsEmpty() {
		perms := pma.maxPerms
		perms.Execute = false
		ims, err := mf.MapUnread(pseg.fileRange(), perms)
		if err != nil {
			return err
		}
		pma.internalMappings = ims
	}
	return mf.AwaitLoad(pseg.fileRangeOf(around(ar, unitToRead(mf)).Intersect(pseg.Range())))
}
