//go:build unix

package relocate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func able(probe string) error {
	file := filepath.Join(probe, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(file, 0o400); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode().Perm() != 0o400 {
		return errors.New("it does not keep who may read a file")
	}
	if err := os.Link(file, filepath.Join(probe, "link")); err != nil {
		return fmt.Errorf("a file cannot have two names there: %w", err)
	}
	return os.Symlink("file", filepath.Join(probe, "symlink"))
}

// identity tells which file it is, where it has several names.
func identity(info fs.FileInfo) any {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Nlink < 2 {
		return nil
	}
	type id struct{ device, inode uint64 }
	return id{uint64(stat.Dev), stat.Ino} //nolint:gosec,unconvert // types differ between systems
}

// sync has a folder's entries outlive a power cut.
func sync(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
