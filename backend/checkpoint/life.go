package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const lifeName = "life"

// BeginLife notes that a machine comes into memory and returns a name for this life. Its checkpoints carry the name, so
// that after a rewind those of an earlier life, which may be newer than the one that the machine went back to, are not taken for its own.
func (f Folder) BeginLife() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return "", err
	}
	life := hex.EncodeToString(b[:])
	path := filepath.Join(string(f), lifeName)
	if err := writeSync(path+partial, []byte(life)); err != nil {
		return "", err
	}
	if err := os.Rename(path+partial, path); err != nil {
		return "", err
	}
	return life, syncDir(string(f))
}

// Unrecorded returns the checkpoints of the present or last life that are newer than known, oldest first.
func (f Folder) Unrecorded(known string) ([]Manifest, error) {
	life, err := os.ReadFile(filepath.Join(string(f), lifeName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := f.List()
	if err != nil {
		return nil, err
	}
	var list []Manifest
	for _, m := range all {
		if m.Life == string(life) && m.ID > known {
			list = append(list, m)
		}
	}
	return list, nil
}

func writeSync(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
