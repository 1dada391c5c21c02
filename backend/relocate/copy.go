// Package relocate copies a folder of ours to another disk, and proves that the copy is whole
// before anything relies on it.
package relocate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// piece is how much is read at a time. A piece of zeros becomes a hole.
const piece = 256 << 10

// ErrDisk says that a disk cannot hold our files.
var ErrDisk = errors.New("this disk cannot hold ForeverVM's files")

// Size is how many bytes Copy will read. leave are names at the top that stay behind.
func Size(from string, leave ...string) (int64, error) {
	var all int64
	err := walk(from, leave, func(_, _ string, info fs.FileInfo) error {
		if info.Mode().IsRegular() {
			all += info.Size()
		}
		return nil
	})
	return all, err
}

// Copy copies what is below from into the folder to, which must exist, and reads each file of the
// copy back. leave are names at the top that stay behind; so do sockets and pipes. Files with
// several names keep them, memory keeps its holes, and all keeps its mode and time. Nobody may
// write to from meanwhile. What is read back may come from the system's cache. progress is told
// how many bytes are done. After an error, the copy is worth nothing.
func Copy(ctx context.Context, from, to string, progress func(done int64), leave ...string) error {
	c := copier{ctx: ctx, progress: progress, names: map[any]string{}, buffer: make([]byte, piece)}
	var folders []func() error
	err := walk(from, leave, func(source, relative string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case info.IsDir():
			// Its mode and time come last: files are still put into it.
			folders = append(folders, func() error { return finish(target, info) })
			return os.Mkdir(target, 0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(source)
			if err != nil {
				return err
			}
			return os.Symlink(leads, target)
		case info.Mode().IsRegular():
			return c.file(source, target, info)
		}
		return nil
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		err = folders[i]()
	}
	if err == nil {
		err = sync(to)
	}
	return err
}

// walk calls visit for all below a folder, a folder before what is in it.
func walk(from string, leave []string, visit func(path, relative string, info fs.FileInfo) error) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if relative == "." {
			return nil
		}
		for _, name := range leave {
			if relative == name {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return visit(path, relative, info)
	})
}

type copier struct {
	ctx      context.Context
	progress func(done int64)
	done     int64
	names    map[any]string // the first copy of each file, by which file it is
	buffer   []byte
}

func (c *copier) file(source, target string, info fs.FileInfo) error {
	if file := identity(info); file != nil {
		if first, ok := c.names[file]; ok {
			c.tell(info.Size())
			return os.Link(first, target)
		}
		c.names[file] = target
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	read, err := c.contents(in, out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	written, err := digest(target, c.buffer)
	if err != nil {
		return err
	}
	if !bytes.Equal(read, written) {
		return fmt.Errorf("%w: it gave back other bytes than were written to %s; it may be failing", ErrDisk, target)
	}
	if err := os.Chmod(target, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(target, time.Time{}, info.ModTime())
}

// contents copies a file's bytes and returns their digest.
func (c *copier) contents(in io.Reader, out *os.File) ([]byte, error) {
	sum := sha256.New()
	var size int64
	for {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		n, err := io.ReadFull(in, c.buffer)
		part := c.buffer[:n]
		sum.Write(part)
		if zeros(part) {
			_, seekErr := out.Seek(int64(n), io.SeekCurrent)
			err = errors.Join(seekErr, err)
		} else if _, writeErr := out.Write(part); writeErr != nil {
			return nil, writeErr
		}
		size += int64(n)
		c.tell(int64(n))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return sum.Sum(nil), out.Truncate(size)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *copier) tell(more int64) {
	c.done += more
	c.progress(c.done)
}

var noBytes [piece]byte

func zeros(part []byte) bool { return bytes.Equal(part, noBytes[:len(part)]) }

func digest(path string, buffer []byte) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	// Without its own WriteTo the file is read by pieces, of our buffer.
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{file}, buffer); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// finish gives a folder the mode and time of the one that it is a copy of.
func finish(target string, info fs.FileInfo) error {
	if err := os.Chmod(target, info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Chtimes(target, time.Time{}, info.ModTime()); err != nil {
		return err
	}
	return sync(target)
}

// Able sees whether a folder's disk can hold our files: it knows who may read a file, and files can
// have several names. Disks that are made for cameras (FAT, exFAT) cannot.
func Able(folder string) (err error) {
	probe, err := os.MkdirTemp(folder, ".forevervm-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(probe)) }()
	if err := able(probe); err != nil {
		return fmt.Errorf("%w: %s. Choose a disk with a file system of this system (ext4, Btrfs, APFS, NTFS)", ErrDisk, strings.TrimSuffix(err.Error(), "."))
	}
	return nil
}
