package iox

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteWhole writes a small file that is there as a whole or not at all.
func WriteWhole(file string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
