// ForeverVM's part of gVisor: the patch "holes" (build/runsc/patches) calls this.

package pgalloc

import (
	"math"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/hostarch"
)

// holes finds the pages of a memory file that nobody has written to. To compare them with zeros
// would have the system make them, and each time it saves the sandbox would make, and give back,
// what its programs have asked for and never used: tens of MB, for a tenth of a second.
type holes struct {
	f *MemoryFile

	// What is known: from, up to to, there are pages, or none.
	from, to uint64
	none     bool
}

// at says whether there is no page at that offset. Of a file on a disk that is not looked for: what
// is not in memory there may be on the disk.
func (h *holes) at(off uint64) bool {
	if h.f.opts.DiskBackedFile {
		return false
	}
	if off >= h.from && off < h.to {
		return h.none
	}
	h.from, h.to, h.none = off, off+hostarch.PageSize, false
	fd := int(h.f.file.Fd())
	switch next, err := unix.Seek(fd, int64(off), unix.SEEK_DATA); {
	case err == unix.ENXIO: // there is nothing up to its end
		h.to, h.none = math.MaxUint64, true
	case err != nil:
	case uint64(next) > off:
		h.to, h.none = uint64(next), true
	default:
		if end, err := unix.Seek(fd, int64(off), unix.SEEK_HOLE); err == nil && uint64(end) > off {
			h.to = uint64(end)
		}
	}
	return h.none
}
