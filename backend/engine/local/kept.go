package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// A state can be brought into memory with the very image and runsc alone that it was saved with,
// and the next version of the program has others. So a copy of those stays that machines of this
// folder need, compressed to a third, and is unpacked when one of them is wanted and its version is
// not installed any more.

const (
	keptFolder = "parts"
	packed     = ".zst"
	half       = ".partial"
)

// kept is where the copy of a part lies, unpacked, that has this digest and is called name.
func (s *Store) kept(digest, name string) string {
	return filepath.Join(s.cfg.Data, keptFolder, digest, name)
}

// PartsFor are those that can restore a checkpoint: the installed ones, or the copies that were
// kept of what has saved it. Where there are none, it is the installed ones, which Fits then
// refuses.
func (s *Store) PartsFor(ctx context.Context, image string, id machine.ID, name string) (Parts, error) {
	p, err := s.Parts(image)
	if err != nil || name == "" {
		return p, err
	}
	m, err := Checkpoints(s.Machine(id)).Load(name)
	if err != nil || p.Fits(m) == nil || m.Spec != sandbox.SpecDigest() || !isDigest(m.Image) || !isDigest(m.Runtime) {
		return p, nil //nolint:nilerr // Open tells what is wrong with it
	}
	old := p
	if m.Image != p.ImageDigest {
		old.ImageDigest = m.Image
		if old.Image, err = s.unpack(ctx, m.Image, filepath.Base(p.Image)); err != nil {
			return p, notKept(err)
		}
	}
	if m.Runtime != p.RuntimeDigest {
		old.RuntimeDigest = m.Runtime
		if old.Runsc, err = s.unpack(ctx, m.Runtime, filepath.Base(p.Runsc)); err != nil {
			return p, notKept(err)
		}
	}
	return old, nil
}

// notKept is nil where there is just no copy.
func notKept(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Describe(err)
}

func isDigest(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == sha256.Size
}

// unpack returns where a kept part lies ready to be used.
func (s *Store) unpack(ctx context.Context, digest, name string) (string, error) {
	path := s.kept(digest, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	in, err := os.Open(path + packed)
	if err != nil {
		return "", err
	}
	defer in.Close()
	s.unpacking.Lock() // a gigabyte once, however many machines wait for it
	defer s.unpacking.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	d, err := zstd.NewReader(in)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return path, replace(path, 0o500, digest, func(out io.Writer) error {
		_, err := io.Copy(out, checkpoint.Reader(ctx, d))
		return err
	})
}

// HeldParts are the installed parts as they were at one moment. They are held open: an update that
// replaces their files does not take them away.
type HeldParts struct {
	store *Store
	all   []heldPart
}

type heldPart struct {
	digest, path string
	file         *os.File // nil on Windows, where an open file cannot be replaced
}

// HoldParts holds the installed parts. The caller closes them.
func (s *Store) HoldParts() *HeldParts {
	h := &HeldParts{store: s}
	for _, p := range s.AllParts() {
		for digest, path := range map[string]string{p.ImageDigest: p.Image, p.RuntimeDigest: p.Runsc} {
			one := heldPart{digest: digest, path: path}
			if runtime.GOOS != "windows" {
				one.file, _ = os.Open(path) // else it is read by its path
			}
			h.all = append(h.all, one)
		}
	}
	// The small ones come first: where there is no time for all, an update often changes these
	// alone.
	slices.SortFunc(h.all, func(a, b heldPart) int { return cmp.Compare(sizeOf(a.path), sizeOf(b.path)) })
	return h
}

// sizeOf is how large a file is; 0 where it is not there.
func sizeOf(path string) int64 {
	found, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return found.Size()
}

// Close lets them go.
func (h *HeldParts) Close() {
	for _, one := range h.all {
		if one.file != nil {
			_ = one.file.Close() // it was only read
		}
	}
}

// Replaced says whether other files have taken their places.
func (h *HeldParts) Replaced() bool {
	return slices.ContainsFunc(h.all, func(one heldPart) bool {
		if one.file == nil {
			return false
		}
		then, err := one.file.Stat()
		if err != nil {
			return false
		}
		now, err := os.Stat(one.path)
		return err != nil || !os.SameFile(then, now)
	})
}

// Keep keeps copies of those that machines of this folder need. It takes a processor for some
// seconds where there are none yet, and gives way to others; else it costs next to nothing.
func (h *HeldParts) Keep(ctx context.Context) error {
	missing := slices.DeleteFunc(slices.Clone(h.all), func(one heldPart) bool {
		_, err := os.Stat(h.store.kept(one.digest, filepath.Base(one.path)) + packed)
		return err == nil
	})
	if len(missing) == 0 {
		return nil
	}
	needed, _, err := h.store.neededParts()
	if err != nil {
		return err
	}
	return beside(func() error {
		for _, one := range missing {
			if !needed[one.digest] {
				continue
			}
			if err := h.store.keepPart(ctx, one); err != nil {
				return fmt.Errorf("keep a copy of %s: %w", one.path, err)
			}
		}
		return nil
	})
}

// ForgetParts removes the copies that no machine needs any more. Where a checkpoint cannot be read,
// nobody knows what it needs, and all stay.
func (s *Store) ForgetParts() error {
	root := filepath.Join(s.cfg.Data, keptFolder)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	needed, sure, err := s.neededParts()
	if err != nil || !sure {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && !needed[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	return err
}

// neededParts are the digests that checkpoints of machines name, and whether these are all.
func (s *Store) neededParts() (needed map[string]bool, sure bool, err error) {
	all, err := folders(s.cfg.Data)
	if err != nil {
		return nil, false, err
	}
	needed, sure = map[string]bool{}, true
	for _, folder := range all {
		if filepath.Dir(filepath.Dir(string(folder))) == filepath.Join(s.cfg.Data, "templates") {
			continue
		}
		list, whole, err := folder.ListAll()
		if err != nil {
			return nil, false, err
		}
		sure = sure && whole
		for _, m := range list {
			needed[m.Image], needed[m.Runtime] = true, true
		}
	}
	return needed, sure, nil
}

// OldParts are those, beside the installed ones, that saved states of machines here need.
func (s *Store) OldParts(ctx context.Context) ([]Parts, error) {
	all, err := folders(s.cfg.Data)
	if err != nil {
		return nil, err
	}
	installed, old := s.AllParts(), map[[2]string]Parts{}
	for _, folder := range all {
		list, err := folder.List()
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			pair := [2]string{m.Image, m.Runtime}
			if _, known := old[pair]; known || slices.ContainsFunc(installed, func(p Parts) bool { return p.Fits(m) == nil }) {
				continue
			}
			for _, p := range installed {
				found, err := s.PartsFor(ctx, p.Name(), machine.ID(filepath.Base(filepath.Dir(string(folder)))), m.ID)
				if err == nil && found.Fits(m) == nil {
					old[pair] = found
				}
			}
		}
	}
	return slices.Collect(maps.Values(old)), nil
}

// keepPart compresses a part.
func (s *Store) keepPart(ctx context.Context, part heldPart) error {
	to := s.kept(part.digest, filepath.Base(part.path)) + packed
	file := part.file
	if file == nil {
		opened, err := os.Open(part.path)
		if err != nil {
			return err
		}
		defer opened.Close()
		file = opened
	}
	in := io.NewSectionReader(file, 0, math.MaxInt64)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return replace(to, 0o600, "", func(out io.Writer) error {
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(io.MultiWriter(z, sum), checkpoint.Reader(ctx, in))
		if err = errors.Join(err, z.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != part.digest {
			err = errors.New("it is being replaced")
		}
		return err
	})
}

// replace writes a file that is there whole or not at all, and has the digest, unless that is
// empty.
func replace(path string, mode fs.FileMode, digest string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+half)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	if err == nil && digest != "" && hex.EncodeToString(sum.Sum(nil)) != digest {
		err = fmt.Errorf("%w: the copy of %s has changed", checkpoint.ErrUnusable, filepath.Base(path))
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Chmod(mode))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	sweep(path)
	return os.Rename(f.Name(), path)
}

// sweep removes what was left half written of a file long ago.
func sweep(path string) {
	left, _ := filepath.Glob(path + ".*" + half)
	for _, old := range left {
		if info, err := os.Stat(old); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(old) // it is in nobody's way
		}
	}
}
