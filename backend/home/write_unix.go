//go:build !windows

package home

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// WritePrivate replaces a file all at once with one that only the user may read.
func WritePrivate(path string, data []byte) error {
	// Beside it, and not where all programs' temporary files are: a kill leaves what is half
	// written.
	return renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask(), renameio.WithTempDir(filepath.Dir(path)))
}

// read returns what is in a file that may be replaced meanwhile.
func read(path string) ([]byte, error) { return os.ReadFile(path) }

// remove takes a file away.
func remove(path string) error { return os.Remove(path) }

// removeAll takes a folder away, and all that is in it. One that is not there is none to fail for.
func removeAll(folder string) error { return os.RemoveAll(folder) }
