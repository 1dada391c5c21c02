//go:build linux || darwin

package vm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/erofs/go-erofs"

	"github.com/forevervm/desktop/backend/machine"
)

// Parts are what a place is made of, as files of this computer: programs for Linux, and the sandbox
// image.
type Parts struct{ Agent, Supervisor, Runsc, Image string }

// partsBlock is the size of a block of the disk of the parts; the image has whole ones.
const partsBlock = 4096

// partsSuffix ends the name of a disk of parts. What comes before says what is on it.
const partsSuffix = ".parts"

// disk makes the disk of the parts in a folder, unless it is there, and returns its path. It holds
// the programs, and of the image only where its content is: on the next disk, which is the image
// itself. digest tells the SHA-256 of a file, in hexadecimal. The guest believes it, and does not
// read the image whole.
func (p Parts) disk(folder string, digest func(path string) (string, error)) (string, error) {
	files := []struct{ from, name string }{
		{p.Agent, "agent"}, {p.Supervisor, "supervisor"}, {p.Runsc, "runsc"}, {p.Image, "image/" + filepath.Base(p.Image)},
	}
	sums := ""
	for _, f := range files {
		sum, err := digest(f.from)
		if err != nil {
			return "", &machine.Error{Kind: machine.ErrUnavailable, Message: "This installation of ForeverVM lacks a part of the virtual machine: " + f.name + ". Install ForeverVM again.", Cause: err}
		}
		sums += sum + "  " + f.name + "\n"
	}
	all := sha256.Sum256([]byte("1\n" + sums)) // the number is that of how such a disk is made
	file := filepath.Join(folder, hex.EncodeToString(all[:8])+partsSuffix)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	old, err := filepath.Glob(filepath.Join(folder, "*"+partsSuffix))
	if err != nil {
		return "", err
	}
	for _, one := range old { // of another version
		if err := os.Remove(one); err != nil {
			return "", err
		}
	}
	out, err := os.CreateTemp(folder, "*.making"+partsSuffix)
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	w := erofs.Create(out, erofs.WithBlockSize(partsBlock), erofs.WithTempDir(folder), erofs.WithBuildTime(0, 0))
	elsewhere, err := onNextDisk(p.Image)
	if err != nil {
		return "", err
	}
	if err := w.CopyFrom(elsewhere, erofs.MetadataOnly()); err != nil {
		return "", err
	}
	for _, f := range files[:3] {
		if err := copyInto(w, f.from, f.name); err != nil {
			return "", err
		}
	}
	if err := writeInto(w, "sums", sums); err != nil {
		return "", err
	}
	if err := errors.Join(w.Close(), pad(out), out.Sync(), out.Close()); err != nil {
		return "", fmt.Errorf("write the disk of the virtual machine's programs: %w", err)
	}
	return file, os.Rename(out.Name(), file)
}

// pad makes a disk have whole blocks.
func pad(disk *os.File) error {
	size, err := disk.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return disk.Truncate((size + partsBlock - 1) / partsBlock * partsBlock)
}

func copyInto(w *erofs.Writer, from, name string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := w.Create("/" + name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755), out.Close())
}

func writeInto(w *erofs.Writer, name, content string) error {
	out, err := w.Create("/" + name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, content)
	return errors.Join(err, out.Close())
}

// nextDisk is a file system with one file, in the folder image, whose content is all of another
// disk.
type nextDisk struct{ image info }

func onNextDisk(file string) (nextDisk, error) {
	found, err := os.Stat(file)
	if err != nil {
		return nextDisk{}, err
	}
	if found.Size() == 0 || found.Size()%partsBlock != 0 {
		return nextDisk{}, fmt.Errorf("the sandbox image %s has %d bytes, which is no number of whole blocks", file, found.Size())
	}
	return nextDisk{info{name: filepath.Base(file), size: found.Size(), mode: 0o444}}, nil
}

// DeviceBlocks tells how large the other disk is.
func (d nextDisk) DeviceBlocks() uint64 { return uint64(d.image.size / partsBlock) }

// Open is fs.FS's. Nothing is read from here.
func (d nextDisk) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// Stat is fs.StatFS's.
func (d nextDisk) Stat(name string) (fs.FileInfo, error) {
	return info{name: path.Base(name), mode: fs.ModeDir | 0o755}, nil
}

// ReadDir is fs.ReadDirFS's.
func (d nextDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "." {
		return []fs.DirEntry{fs.FileInfoToDirEntry(info{name: "image", mode: fs.ModeDir | 0o755})}, nil
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(d.image)}, nil
}

// info is of a file or folder of a nextDisk.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Unix(0, 0) }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// DataRange tells go-erofs where the content is.
func (i info) DataRange() []erofs.DataRange {
	if i.IsDir() {
		return nil
	}
	return []erofs.DataRange{{Offset: 0, Size: i.size}}
}
