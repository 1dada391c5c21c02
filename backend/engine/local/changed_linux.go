package local

import (
	"io/fs"
	"syscall"
)

// changed tells when a file was last changed in any way, its times included, and which it is of all
// with its name.
func changed(info fs.FileInfo) (ns int64, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctim.Nano(), st.Ino
}
