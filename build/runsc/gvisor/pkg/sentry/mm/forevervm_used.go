// ForeverVM's part of gVisor: the patch "used memory" (build/runsc/patches) calls this.

package mm

import (
	"gvisor.dev/gvisor/pkg/context"
	"gvisor.dev/gvisor/pkg/hostarch"
	"gvisor.dev/gvisor/pkg/sentry/limits"
	"gvisor.dev/gvisor/pkg/sentry/memmap"
)

// isData says whether a mapping is memory of a program's own.
func (v *vma) isData() bool {
	return v.realPerms.Write && v.private && v.mappable == nil && !v.growsDown
}

// countsWhole says whether such a mapping counts before it is used: all do but stacks and what was
// reserved with MAP_NORESERVE, which MMap takes for a stack.
func (v *vma) countsWhole() bool { return v.isData() && !v.isStack }

// mayMapLocked says whether a program may have what it asks for at ar.
//
// Preconditions: mm.mappingMu must be locked.
func (mm *MemoryManager) mayMapLocked(ctx context.Context, opts memmap.MMapOpts, ar hostarch.AddrRange) bool {
	v := vma{mappable: opts.Mappable, realPerms: opts.Perms, private: opts.Private, growsDown: opts.GrowsDown, isStack: opts.Stack}
	if !v.isData() {
		return true
	}
	more := uint64(0)
	if v.countsWhole() {
		more = opts.Length
		for vseg := mm.vmas.LowerBoundSegment(ar.Start); vseg.Ok() && vseg.Start() < ar.End; vseg = vseg.NextSegment() {
			if vseg.ValuePtr().countsWhole() { // it goes
				more -= uint64(vseg.Range().Intersect(ar).Length())
			}
		}
	}
	return mm.mayTakeLocked(ctx, more)
}

// MayShare says whether a program may have memory that it shares with its children.
func (mm *MemoryManager) MayShare(ctx context.Context, opts memmap.MMapOpts) bool {
	limit := limits.FromContext(ctx).Get(limits.Data).Cur
	return limit == limits.Infinity || !opts.Perms.Write || opts.Stack || mm.mf.HasRoom(opts.Length, limit)
}

// mayGrowLocked says whether a mapping may become so many bytes longer.
//
// Preconditions: mm.mappingMu must be locked.
func (mm *MemoryManager) mayGrowLocked(ctx context.Context, v *vma, from, to uint64) bool {
	return to <= from || !v.countsWhole() || mm.mayTakeLocked(ctx, to-from)
}

// mayWriteLocked says whether a program may write to ar from now on.
//
// Preconditions: mm.mappingMu must be locked.
func (mm *MemoryManager) mayWriteLocked(ctx context.Context, ar hostarch.AddrRange, perms hostarch.AccessType) bool {
	if !perms.Write {
		return true
	}
	takes, more := false, uint64(0)
	for vseg := mm.vmas.LowerBoundSegment(ar.Start); vseg.Ok() && vseg.Start() < ar.End; vseg = vseg.NextSegment() {
		was := vseg.ValuePtr()
		v := vma{mappable: was.mappable, realPerms: perms, private: was.private, growsDown: was.growsDown, isStack: was.isStack}
		if v.isData() && !was.isData() {
			takes = true
			if v.countsWhole() {
				more += uint64(vseg.Range().Intersect(ar).Length())
			}
		}
	}
	return !takes || mm.mayTakeLocked(ctx, more)
}

// mayTakeLocked says whether a program may have so many bytes more.
//
// Preconditions: mm.mappingMu must be locked.
func (mm *MemoryManager) mayTakeLocked(ctx context.Context, more uint64) bool {
	limit := limits.FromContext(ctx).Get(limits.Data).Cur
	return limit == limits.Infinity || mm.dataAS+more <= limit && mm.mf.HasRoom(more, limit)
}
