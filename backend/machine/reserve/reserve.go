// Package reserve holds room on the disk back for deleting, which must work on a full disk: the
// record of it takes room before it gives any.
package reserve

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Bytes is how much is held back.
const Bytes = 32 << 20

// File is a file that takes room on the disk until it is given up for deleting something.
type File struct {
	mu   sync.Mutex
	path string
}

// New is the reserve at a path, which Fill makes.
func New(path string) *File { return &File{path: path} }

// Fill makes the file when it is missing.
func (r *File) Fill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info, err := os.Stat(r.path); err == nil && info.Size() == Bytes {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.Reader, Bytes) // nothing that a file system could make smaller
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(r.path))
	}
	return nil
}

// Release gives the room up, and says whether there was any.
func (r *File) Release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.Remove(r.path) == nil
}
