package safefile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange puts each of two files in the other's place, at once. The error is errors.ErrUnsupported
// where the file system cannot.
func exchange(a, b string) error { return rename(a, b, unix.RENAME_EXCHANGE) }

// renameNew gives a file a name that no other has; it is fs.ErrExist where one has. The error is
// errors.ErrUnsupported where the file system cannot.
func renameNew(from, to string) error { return rename(from, to, unix.RENAME_NOREPLACE) }

func rename(from, to string, how uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, how)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
