package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lukechampine.com/blake3"

	"github.com/forevervm/desktop/backend/checkpoint/blocks"
)

// sumsName is the file with the checksum of each page of the memory: its CRC-32C, little-endian.
// The sandbox compares each page that it reads (build/runsc, patch "checked pages"), so a machine
// never gets a page that has changed.
const sumsName = "pages.sum"

const sumSize = 4

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// stepSize is how much of a file is read at once, in bytes. It fits into a processor's cache.
const stepSize = 256 << 10

// sum reads the files in dir, writes the checksums of the memory beside them, and notes the digests
// of the others.
func (m *Manifest) sum(ctx context.Context, dir string) error {
	err := WriteSums(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.Sums, err = digests(dir)
	return err
}

// WriteSums writes the checksums of the memory that was saved in dir: runsc restores none without
// them. It fails with fs.ErrNotExist where no memory was saved.
func WriteSums(ctx context.Context, dir string) error {
	sums, err := pageSums(ctx, filepath.Join(dir, pagesName))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, sumsName)
	return errors.Join(remove(path), os.WriteFile(path, sums, 0o600))
}

// pageSums computes the checksums of a file's pages.
func pageSums(ctx context.Context, path string) ([]byte, error) {
	in, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sums := make([]byte, 0, sumSize*units(size))
	buffer := make([]byte, stepSize)
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		step := buffer[:min(left, stepSize)]
		if _, err := io.ReadFull(in, step); err != nil {
			return nil, err
		}
		left -= int64(len(step))
		for ; len(step) > 0; step = step[min(len(step), blocks.Unit):] {
			sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(step[:min(len(step), blocks.Unit)], castagnoli))
		}
	}
	return sums, nil
}

// digests are those of all files in dir but the memory's, in hexadecimal.
func digests(dir string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range append(append([]string{}, files...), sumsName) {
		if name == pagesName {
			continue
		}
		in, _, err := open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := blake3.New(32, nil)
		_, err = io.Copy(h, in)
		in.Close()
		if err != nil {
			return nil, err
		}
		found[name] = hex.EncodeToString(h.Sum(nil))
	}
	return found, nil
}

// Check compares what is small of the checkpoint in the folder dir with what was saved: all files
// but the content of the memory, which the sandbox compares while it reads it. It fails with
// ErrUnusable where something has changed. Of a checkpoint of an earlier version it tells nothing.
func Check(dir string) error {
	m, err := LoadAt(dir)
	if err != nil || m.Sums == nil {
		return err
	}
	there, err := digests(dir)
	if err != nil {
		return unreadable(err)
	}
	for name, digest := range there {
		if m.Sums[name] != digest {
			return changed(name, "")
		}
	}
	if len(there) != len(m.Sums) {
		return changed("one of its files", "it is missing")
	}
	_, err = loadSums(dir)
	return err
}

// loadSums reads the checksums of the memory in the folder dir.
func loadSums(dir string) ([]byte, error) {
	size, err := sizeOf(filepath.Join(dir, pagesName))
	if err == nil {
		var sums []byte
		if sums, err = os.ReadFile(filepath.Join(dir, sumsName)); err == nil {
			if int64(len(sums)) != sumSize*units(size) {
				return nil, changed(pagesName, fmt.Sprintf("it has %d bytes", size))
			}
			return sums, nil
		}
	}
	return nil, unreadable(err)
}

// unreadable makes ErrUnusable of what the disk does not give back: a file that is gone, or that it
// cannot read. Other errors, such as too many open files, pass, and say nothing of the file.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return err
}

func changed(name, how string) error {
	if how != "" {
		how = ": " + how
	}
	return fmt.Errorf("%w: %s has changed since it was written%s", ErrUnusable, name, how)
}

// checker compares a file with what was saved while it is read from its beginning to its end.
type checker struct {
	name string

	sums []byte // of the memory's pages that are still to come
	sum  uint32 // of what has come of this one
	have int    // bytes of this page

	digest string // of another file
	hash   *blake3.Hasher
}

// checker makes one for the file of that name in the folder dir; nil where nothing is known of it.
func (m *Manifest) checker(dir, name string) (*checker, error) {
	switch {
	case m.Sums == nil:
		return nil, nil
	case name == pagesName:
		sums, err := loadSums(dir)
		return &checker{name: name, sums: sums}, err
	}
	return &checker{name: name, digest: m.Sums[name], hash: blake3.New(32, nil)}, nil
}

// Write takes what comes next of the file.
func (c *checker) Write(b []byte) (int, error) {
	if c.hash != nil {
		return c.hash.Write(b)
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), blocks.Unit-c.have)
		c.sum = crc32.Update(c.sum, castagnoli, rest[:n])
		c.have += n
		rest = rest[n:]
		if c.have == blocks.Unit {
			if err := c.page(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// page compares a page that has come whole.
func (c *checker) page() error {
	if len(c.sums) < sumSize || binary.LittleEndian.Uint32(c.sums) != c.sum {
		return changed(c.name, "")
	}
	c.sums, c.sum, c.have = c.sums[sumSize:], 0, 0
	return nil
}

// end says whether the file is whole.
func (c *checker) end() error {
	if c.hash != nil {
		if hex.EncodeToString(c.hash.Sum(nil)) != c.digest {
			return changed(c.name, "")
		}
		return nil
	}
	if c.have > 0 {
		if err := c.page(); err != nil {
			return err
		}
	}
	if len(c.sums) > 0 {
		return changed(c.name, "it is too short")
	}
	return nil
}

// checkedReader reads a file through a checker, and fails with ErrUnusable in place of giving out
// its end.
type checkedReader struct {
	io.Reader
	c *checker
}

func (r checkedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if _, wrong := r.c.Write(b[:n]); wrong != nil {
		return 0, wrong
	}
	if errors.Is(err, io.EOF) {
		if wrong := r.c.end(); wrong != nil {
			return 0, wrong
		}
		return n, err
	}
	return n, unreadable(err)
}

// through has what is read from a file in the folder dir checked. To read it all, read until its
// end is told.
func (m *Manifest) through(dir, name string, r io.Reader) (io.Reader, error) {
	c, err := m.checker(dir, name)
	if err != nil || c == nil {
		return r, err
	}
	return checkedReader{r, c}, nil
}

// OpenFile opens a file of the checkpoint in the folder dir. Where it has changed since it was
// saved, reading it fails with ErrUnusable, at its end at the latest.
func OpenFile(dir, name string) (io.ReadCloser, error) {
	m, err := LoadAt(dir)
	if err != nil {
		return nil, err
	}
	in, _, err := open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	r, err := m.through(dir, name, in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{r, in}, nil
}

// checkAll reads all files of the checkpoint in the folder dir and compares them.
func (m *Manifest) checkAll(ctx context.Context, dir string) error {
	if err := Check(dir); err != nil {
		return err
	}
	in, err := OpenFile(dir, pagesName)
	if err != nil {
		return unreadable(err)
	}
	defer in.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, contextReader{ctx, in}, make([]byte, stepSize))
	return err
}

// intact says whether b, read from the memory's file at that offset, is what was saved. Only whole
// pages are.
func intact(sums []byte, at int64, b []byte) bool {
	for unit := at / blocks.Unit; len(b) > 0; unit, b = unit+1, b[blocks.Unit:] {
		if len(b) < blocks.Unit || at%blocks.Unit != 0 || int64(len(sums)) < (unit+1)*sumSize ||
			binary.LittleEndian.Uint32(sums[unit*sumSize:]) != crc32.Checksum(b[:blocks.Unit], castagnoli) {
			return false
		}
	}
	return true
}

// units is how many pages a file of that size has.
func units(size int64) int64 { return (size + blocks.Unit - 1) / blocks.Unit }

// open opens a plain file.
func open(path string) (*os.File, int64, error) {
	if err := regular(path); err != nil {
		return nil, 0, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
