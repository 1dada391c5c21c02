package daemon

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// freeDisk is how many bytes this user may still write where dir lies.
func freeDisk(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(free), nil //nolint:gosec // no disk is that large
}

// sizeOnDisk is a file's size. A file with several names counts once for each: to know it, every
// file would have to be opened.
func sizeOnDisk(info fs.FileInfo) (size int64, file any) { return info.Size(), nil }
