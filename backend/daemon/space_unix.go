//go:build unix

package daemon

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeDisk is how many bytes this user may still write where dir lies.
func freeDisk(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:gosec,unconvert // types differ between systems
}

// sizeOnDisk is what a file takes of the disk, and which file it is: copies of machines share files
// by hard links, and files of memory have holes.
func sizeOnDisk(info fs.FileInfo) (size int64, file any) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), nil
	}
	type id struct{ device, inode uint64 }
	return stat.Blocks * 512, id{uint64(stat.Dev), stat.Ino} //nolint:gosec,unconvert // types differ between systems
}
