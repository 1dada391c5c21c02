package parts

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Installed is the digest of the parts in a folder.
func Installed(bin string) (string, error) {
	b, err := os.ReadFile(filepath.Join(bin, "digest"))
	return strings.TrimSuffix(string(b), "\n"), err
}

// ReadSums reads a file of SHA-256 sums, as sha256sum writes it, by the names in it.
func ReadSums(file string) (map[string]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(content)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || !ok || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("the file %s has a line that is no sum of a file: %.80q", file, line)
		}
		sums[name] = sum
	}
	return sums, nil
}

// Unpack takes parts as Write writes them, checks what came, and puts it in the place of the folder
// bin, at once. What breaks off on the way, however it does, changes nothing. Before that moment it
// calls alone, which waits until nobody uses the parts that are there, and keeps others out until
// what it returns is closed. What machines in the folder data may have been saved with is kept
// there (package engine/local); the agent removes it when none needs it.
func Unpack(r io.Reader, bin, data string, alone func() (io.Closer, error)) error {
	fresh := bin + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := extract(tar.NewReader(r), fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	held, err := alone()
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	defer held.Close()
	if _, err := os.Lstat(bin); errors.Is(err, fs.ErrNotExist) {
		err = os.Rename(fresh, bin)
		return errors.Join(err, sync(filepath.Dir(bin)))
	}
	if err := keep(bin, fresh, data); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, bin, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange the programs: %w", err)
	}
	return errors.Join(sync(filepath.Dir(bin)), os.RemoveAll(fresh))
}

// extract writes what is in a tar file into a new folder, and checks it.
func extract(t *tar.Reader, folder string) error {
	got := map[string]string{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%.80q is no file of a place", h.Name)
		}
		if got[h.Name], err = write(filepath.Join(folder, h.Name), h.FileInfo().Mode().Perm(), t); err != nil {
			return err
		}
	}
	want, err := ReadSums(filepath.Join(folder, "sums"))
	if err != nil {
		return err
	}
	for name, sum := range want {
		if got[name] != sum {
			return fmt.Errorf("the file %.80q is not what was sent", name)
		}
	}
	if digest, err := Installed(folder); err != nil || digest != got["sums"] || len(got) != len(want)+2 {
		return errors.Join(errors.New("the files are not those that were sent"), err)
	}
	return sync(folder)
}

// write writes a new file, and returns its sum.
func write(path string, mode fs.FileMode, r io.Reader) (sum string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), r)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// keep gives runsc and the image of the parts that go another name, unless the new ones are the
// same.
func keep(old, fresh, data string) error {
	was, err := ReadSums(filepath.Join(old, "sums"))
	if err != nil {
		return err
	}
	is, err := ReadSums(filepath.Join(fresh, "sums"))
	if err != nil {
		return err
	}
	for _, name := range []string{"runsc", "image/base.erofs"} {
		sum := was[name]
		if sum == "" || sum == is[name] {
			continue
		}
		kept := filepath.Join(data, "parts", sum, filepath.Base(name))
		if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(old, name), kept); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// sync makes what was written to the file system of a folder last.
func sync(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("write to the disk: %w", err)
	}
	return nil
}
