package blocks

import (
	"io"
	"os"
)

// disk is what changes files. A test puts one in its place that dies in the middle.
type disk interface {
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

type osDisk struct{}

func (osDisk) Create(path string) (output, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (osDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) Remove(path string) error     { return os.Remove(path) }
func (osDisk) SyncDir(dir string) error     { return SyncDir(dir) }
