package blocks

import (
	"io"
	"os"
)

// disk is what changes files, and opens those that packs are found in. A test puts one in its place
// that dies in the middle.
type disk interface {
	// Open opens a pack to read its index.
	Open(path string) (input, error)
	// Create makes a file that is not there yet.
	Create(path string) (output, error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(dir string) error
}

// output is a file being written. What was written is durable after Sync.
type output interface {
	io.WriteCloser
	Sync() error
}

// input is a file being read.
type input interface {
	io.ReaderAt
	io.Closer
	Stat() (os.FileInfo, error)
}

type osDisk struct{}

func (osDisk) Open(path string) (input, error) { return os.Open(path) }

func (osDisk) Create(path string) (output, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(path string) error     { return os.Remove(path) }
func (osDisk) SyncDir(dir string) error     { return SyncDir(dir) }
