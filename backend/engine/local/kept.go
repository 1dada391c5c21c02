package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// A state can be brought into memory with the very image and runsc alone that it was saved with, and the next version of the program has others. So a copy of those stays that
// machines of this folder need, compressed to a third, and is unpacked when one of them is wanted and its version is not installed any more.

const (
	keptFolder = "parts"
	packed     = ".zst"
	half       = ".partial"
)

// kept is where the copy of a part lies, unpacked, that has this digest and is called name.
func (s *Store) kept(digest, name string) string {
	return filepath.Join(s.cfg.Data, keptFolder, digest, name)
}

// PartsFor are those that can restore a checkpoint: the installed ones, or the copies that were kept of what has saved it. Where there are none, it is the installed ones, which
// Fits then refuses.
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
	unlock, err := s.lockParts(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil // somebody has done it meanwhile
	}
	d, err := zstd.NewReader(in)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return path, replace(path, 0o500, digest, func(out io.Writer) error {
		_, err := io.Copy(out, reader{ctx, d})
		return err
	})
}

// KeepParts keeps copies of the installed parts that machines of this folder need, and removes those that none needs any more. It takes a processor for some
// seconds the first time, and gives way to others.
func (s *Store) KeepParts(ctx context.Context) error {
	unlock, err := s.lockParts(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	needed, err := s.neededParts()
	if err != nil {
		return err
	}
	return errors.Join(s.forgetParts(needed), beside(func() error {
		for _, p := range s.AllParts() {
			for digest, path := range map[string]string{p.ImageDigest: p.Image, p.RuntimeDigest: p.Runsc} {
				if !needed[digest] {
					continue
				}
				if err := s.keepPart(ctx, digest, path); err != nil {
					return fmt.Errorf("keep a copy of %s: %w", path, err)
				}
			}
		}
		return nil
	}))
}

// neededParts are the digests that checkpoints of machines name.
func (s *Store) neededParts() (map[string]bool, error) {
	all, err := folders(s.cfg.Data)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, folder := range all {
		if filepath.Dir(filepath.Dir(string(folder))) == filepath.Join(s.cfg.Data, "templates") {
			continue
		}
		list, err := folder.List()
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			needed[m.Image], needed[m.Runtime] = true, true
		}
	}
	return needed, nil
}

// forgetParts removes the copies that nothing needs.
func (s *Store) forgetParts(needed map[string]bool) error {
	root := filepath.Join(s.cfg.Data, keptFolder)
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && !needed[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, e.Name())))
		}
	}
	return err
}

// keepPart compresses a part, unless there is a copy.
func (s *Store) keepPart(ctx context.Context, digest, path string) error {
	to := s.kept(digest, filepath.Base(path)) + packed
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return replace(to, 0o600, "", func(out io.Writer) error {
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(io.MultiWriter(z, sum), reader{ctx, in})
		if err = errors.Join(err, z.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != digest {
			err = errors.New("it is being replaced")
		}
		return err
	})
}

// replace writes a file that is there whole or not at all, and has the digest, unless that is empty.
func replace(path string, mode fs.FileMode, digest string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path+half, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path+half))
		}
	}()
	sum := sha256.New()
	err = write(io.MultiWriter(f, sum))
	if err == nil && digest != "" && hex.EncodeToString(sum.Sum(nil)) != digest {
		err = fmt.Errorf("%w: the copy of %s has changed", checkpoint.ErrUnusable, filepath.Base(path))
	}
	if err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+half, path)
}

// lockParts keeps others from changing the copies.
func (s *Store) lockParts(ctx context.Context) (unlock func(), err error) {
	root := filepath.Join(s.cfg.Data, keptFolder)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(root, "lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// reader ends when its context does.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
