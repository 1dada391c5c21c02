package vm

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// clone copies a file, which takes neither time nor room where the file system can share blocks.
func clone(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if unix.Clonefile(from, to, unix.CLONE_NOFOLLOW) == nil {
		return os.Chmod(to, 0o600)
	}
	return copyFile(from, to)
}
