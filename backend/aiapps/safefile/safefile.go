// Package safefile reads and replaces files that belong to other programs. A file is replaced all
// at once or not at all, keeps its mode, is left alone where it changed since it was read, and a
// symbolic link stays one.
package safefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxSize is the most bytes of a file.
const MaxSize = 64 << 20

// ErrChanged says that a file is no longer as it was read: read it again.
var ErrChanged = errors.New("another program has changed the file meanwhile")

// ErrRefused says that a file must not be touched; the error's text says why, and what to do.
var ErrRefused = errors.New("the file is left alone")

type refusal struct{ text string }

func (r refusal) Error() string        { return r.text }
func (r refusal) Is(target error) bool { return target == ErrRefused }

func refuse(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

// File is a file as it was read, or the place of one that does not exist yet.
type File struct {
	Path   string // as it was asked for
	Target string // where it really is: behind symbolic links
	Exists bool
	Data   []byte
	info   fs.FileInfo
}

// Read reads a file. One that does not exist is no error; one that this user must not replace is an
// ErrRefused.
func Read(path string) (File, error) {
	f := File{Path: path, Target: path}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, f.findFolder()
	case err != nil:
		return f, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if f.Target, err = filepath.EvalSymlinks(path); err != nil {
			return f, refuse("%s is a symbolic link to a file that is not there; make that file, or delete the link", path)
		}
		if info, err = os.Stat(f.Target); err != nil {
			return f, err
		}
	}
	f.info = info
	switch {
	case !info.Mode().IsRegular():
		return f, refuse("%s is not a file", f.Target)
	case info.Size() > MaxSize:
		return f, refuse("%s is larger than any configuration (%d MB)", f.Target, info.Size()>>20)
	case !own(info):
		return f, refuse("%s belongs to another user; run this as that user", f.Target)
	}
	file, err := os.Open(f.Target)
	if err != nil {
		return f, err
	}
	defer file.Close()
	f.Exists = true
	f.Data, err = io.ReadAll(io.LimitReader(file, MaxSize+1))
	return f, err
}

// findFolder finds where a file that does not exist would be: the folder may be behind a symbolic
// link, or not exist either.
func (f *File) findFolder() error {
	folder, rest := filepath.Dir(f.Path), filepath.Base(f.Path)
	for {
		real, err := filepath.EvalSymlinks(folder)
		if err == nil {
			f.Target = filepath.Join(real, rest)
			info, err := os.Stat(real)
			switch {
			case err != nil:
				return err
			case !info.IsDir():
				return refuse("%s is not a folder", folder)
			case !own(info):
				return refuse("the folder %s belongs to another user; run this as that user", real)
			}
			return nil
		}
		up := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || up == folder {
			return err
		}
		folder, rest = up, filepath.Join(filepath.Base(folder), rest)
	}
}

// Writable fails with an ErrRefused where the person has said that the file shall not be written
// to.
func (f File) Writable() error {
	if f.Exists && f.info.Mode().Perm()&0o200 == 0 {
		return refuse("%s is read-only. Allow yourself to write to it (chmod u+w), or leave it as it is", f.Target)
	}
	return nil
}

// Replace writes data in place of the file, making it and its folders where there were none; made
// are the folders, outermost first. The error is ErrChanged where the file is no longer as it was
// read. Whenever the program or the computer dies, the file is either as it was or as it is to be.
func (f File) Replace(data []byte) (made []string, err error) {
	if err := f.Writable(); err != nil {
		return nil, err
	}
	folder := filepath.Dir(f.Target)
	if made, err = makeFolders(folder); err != nil {
		return made, err
	}
	f.sweep()
	temp, err := os.CreateTemp(folder, f.tempPattern())
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if f.Exists {
		if err := likeOriginal(temp, f.info); err != nil {
			return made, err
		}
	}
	if _, err := temp.Write(data); err != nil {
		return made, err
	}
	if err := temp.Sync(); err != nil {
		return made, err
	}
	if err := temp.Close(); err != nil {
		return made, err
	}
	if err := f.unchanged(); err != nil {
		return made, err
	}
	if err := f.takePlace(temp.Name(), data); err != nil {
		return made, err
	}
	return made, syncFolder(folder)
}

// takePlace puts a new file, which holds data, in the place of the one that was read. Another
// program may have written since that was last looked at: what comes out in exchange is looked at
// too, and goes back where it is not what was read. Where the system cannot exchange files, an
// instant remains in which such a write is lost.
func (f File) takePlace(fresh string, data []byte) error {
	if !f.Exists {
		switch err := renameNew(fresh, f.Target); {
		case errors.Is(err, fs.ErrExist):
			return ErrChanged
		case !errors.Is(err, errors.ErrUnsupported):
			return err
		}
		return os.Rename(fresh, f.Target)
	}
	switch err := exchange(fresh, f.Target); {
	case errors.Is(err, fs.ErrNotExist): // it was removed
		return ErrChanged
	case errors.Is(err, errors.ErrUnsupported):
		return os.Rename(fresh, f.Target)
	case err != nil:
		return err
	}
	if holds(fresh, f.info.Mode(), f.Data) {
		return os.Remove(fresh)
	}
	err := exchange(fresh, f.Target)
	if err == nil && !holds(fresh, f.info.Mode(), data) { // it was written once more, and that is the latest
		err = exchange(fresh, f.Target)
	}
	return errors.Join(ErrChanged, err)
}

// holds says whether a path is a file of this mode that holds this text.
func holds(path string, mode fs.FileMode, text []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != mode {
		return false
	}
	now, err := os.ReadFile(path)
	return err == nil && bytes.Equal(now, text)
}

// Remove deletes the file; the error is ErrChanged where it is no longer as it was read.
func (f File) Remove() error {
	if err := f.Writable(); err != nil {
		return err
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.Target); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(f.Target))
}

// unchanged looks whether the file is still as it was read.
func (f File) unchanged() error {
	now, err := Read(f.Path)
	if err != nil {
		return err
	}
	if now.Target != f.Target || now.Exists != f.Exists || !bytes.Equal(now.Data, f.Data) || f.Exists && now.info.Mode() != f.info.Mode() {
		return ErrChanged
	}
	return nil
}

// makeFolders makes a folder and what is missing above it, and returns what it made.
func makeFolders(folder string) (made []string, err error) {
	var missing []string
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return nil, err
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		}
		made = append(made, at)
	}
	return made, nil
}

const tempMark = ".forevervm-"

func (f File) tempPattern() string { return "." + filepath.Base(f.Target) + tempMark + "*.tmp" }

// sweep deletes what a write that was killed has left. Anyone who replaces this file holds the
// lock, so none of it is in use.
func (f File) sweep() {
	entries, _ := os.ReadDir(filepath.Dir(f.Target))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+filepath.Base(f.Target)+tempMark) && strings.HasSuffix(entry.Name(), ".tmp") {
			_ = os.Remove(filepath.Join(filepath.Dir(f.Target), entry.Name()))
		}
	}
}
