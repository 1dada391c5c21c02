package safefile

import "golang.org/x/sys/unix"

// exchange puts each of two files in the other's place, at once. The error is errors.ErrUnsupported
// where the file system cannot.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

// renameNew gives a file a name that no other has; it is fs.ErrExist where one has. The error is
// errors.ErrUnsupported where the file system cannot.
func renameNew(from, to string) error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) }
