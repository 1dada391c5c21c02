package daemon

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// usedDisk is how many bytes the files below a folder take of the disk, each counted once.
func usedDisk(dir string) (used int64, err error) {
	counted := map[any]bool{}
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.Type().IsRegular() {
			return nil
		}
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // it went while this looked
			return nil
		case err != nil:
			return err
		}
		size, file := sizeOnDisk(info)
		if file == nil || !counted[file] {
			used += size
		}
		if file != nil {
			counted[file] = true
		}
		return nil
	})
	return used, err
}
