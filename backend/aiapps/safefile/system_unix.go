//go:build !windows

package safefile

import (
	"io/fs"
	"os"
	"syscall"
)

// own says whether a file is this user's.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// likeOriginal gives a new file the mode of the one that it replaces, and its group where that is
// allowed.
func likeOriginal(file *os.File, original fs.FileInfo) error {
	if stat, ok := original.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(-1, int(stat.Gid))
	}
	return file.Chmod(original.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSetuid | fs.ModeSticky))
}

// syncFolder makes a rename in a folder last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
