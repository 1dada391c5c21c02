package daemon

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// space is what our files take of the disk, in bytes. A file with several names counts once.
type space struct {
	all      int64
	machines map[machine.ID]int64 // files that belong to one machine alone
	packages int64                // packages that machines have installed
}

// usedDisk measures the files below the data folder.
func usedDisk(data string) (space, error) {
	used := space{machines: map[machine.ID]int64{}}
	owners := map[any]machine.ID{} // of files that have been counted; "" for several
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
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
		area, owner := areaOf(data, path)
		if before, counted := owners[file]; file != nil && counted {
			if before != "" && before != owner {
				used.machines[before] -= size
				owners[file] = ""
			}
			return nil
		}
		if file != nil {
			owners[file] = owner
		}
		used.all += size
		switch {
		case owner != "":
			used.machines[owner] += size
		case area == "packages":
			used.packages += size
		}
		return nil
	})
	return used, err
}

// usedBy measures all that a home keeps: the files below its data folder, and the disk of machines
// in WSL.
func usedBy(dirs home.Dirs) (space, error) {
	used, err := usedDisk(dirs.Data)
	if err != nil {
		return used, err
	}
	inWSL, err := usedDisk(dirs.WSLDir()) // nothing where there is none
	used.all += inWSL.all
	return used, err
}

// freeFor is how many bytes all that a home keeps can still take: where machines in WSL are on
// another disk, as many as there are on the fuller one.
func freeFor(dirs home.Dirs) (int64, error) {
	free, err := freeDisk(dirs.Data)
	if there, wslErr := freeDisk(dirs.WSLDir()); wslErr == nil { // else there are none
		free = min(free, there)
	}
	return free, err
}

// areaOf tells in which part of the data folder a file lies, and whose it is: "" for no machine's.
func areaOf(data, path string) (area string, owner machine.ID) {
	relative, err := filepath.Rel(data, path)
	if err != nil {
		return "", ""
	}
	parts := strings.Split(relative, string(filepath.Separator))
	if (parts[0] == "machines" || parts[0] == "output") && len(parts) > 2 {
		owner = machine.ID(parts[1])
	}
	return parts[0], owner
}
