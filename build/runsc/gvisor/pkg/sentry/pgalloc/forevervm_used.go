// ForeverVM's part of gVisor: the patch "used memory" (build/runsc/patches) calls this.

package pgalloc

import (
	"math"
	"time"
)

// patience is how long memory that was given back is waited for: to release 2 GB takes a fifth of a
// second.
const patience = 2 * time.Second

// HasRoom says whether programs may use so many bytes more, within a limit for all of them. What
// they have given back counts until it is released. That is waited for, as nothing tells of it.
func (f *MemoryFile) HasRoom(more, limit uint64) bool {
	for begun := time.Now(); ; time.Sleep(50 * time.Microsecond) {
		f.mu.Lock()
		releasing := f.haveWaste
		f.mu.Unlock()
		if f.used() <= limit-min(more, limit) {
			return true
		}
		if !releasing || time.Since(begun) > patience {
			return false
		}
	}
}

// used returns how many bytes programs use: what is in the file, and what is still in the
// checkpoint that it is read from.
func (f *MemoryFile) used() uint64 {
	n, err := f.TotalUsage()
	if err != nil {
		return math.MaxUint64
	}
	if amfl := f.asyncPageLoad.Load(); amfl != nil {
		n += amfl.unread.Load()
	}
	return n
}
