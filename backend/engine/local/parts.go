package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Parts are what a sandbox is made of. A checkpoint is restored with the very same.
type Parts struct {
	Runsc, RuntimeDigest string // the program, and its SHA-256 in hexadecimal
	Image, ImageDigest   string // the EROFS file, and its SHA-256 in hexadecimal
}

// Parts finds the image of that name and runsc, and tells their digests.
func (s *Store) Parts(image string) (Parts, error) {
	if image != filepath.Base(image) || image == "." || image == ".." {
		return Parts{}, &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("There is no sandbox image %q.", image)}
	}
	p := Parts{Runsc: s.cfg.Runsc, Image: filepath.Join(s.cfg.Images, image+imageSuffix)}
	var err error
	if p.RuntimeDigest, err = s.digests.of(p.Runsc); err != nil {
		return p, missing("The program runsc is missing. Install ForeverVM again.", err)
	}
	if p.ImageDigest, err = s.digests.of(p.Image); err != nil {
		return p, missing(fmt.Sprintf("The sandbox image %q is missing. Install it, or choose another.", image), err)
	}
	return p, nil
}

// AllParts are those of every image that is here.
func (s *Store) AllParts() (all []Parts) {
	images, _ := filepath.Glob(filepath.Join(s.cfg.Images, "*"+imageSuffix))
	for _, image := range images {
		if p, err := s.Parts(Parts{Image: image}.Name()); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Name is the image's name, such as "base".
func (p Parts) Name() string { return strings.TrimSuffix(filepath.Base(p.Image), imageSuffix) }

const imageSuffix = ".erofs"

// Digest tells the SHA-256 of a file, in hexadecimal, and remembers it.
func (s *Store) Digest(path string) (string, error) { return s.digests.of(path) }

func missing(message string, err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: message, Cause: err}
}

// Fits says whether these parts can restore a checkpoint.
func (p Parts) Fits(m checkpoint.Manifest) error {
	if m.Image == p.ImageDigest && m.Runtime == p.RuntimeDigest && m.Spec == sandbox.SpecDigest() {
		return nil
	}
	return Unusable("This state was saved by another version of ForeverVM's sandbox and cannot be brought into memory by the present one. "+
		"Its history is whole: run its instructions again in a new machine, or go back to the version that saved it.",
		fmt.Errorf("checkpoint %s of image %.12s, runsc %.12s, spec %s; here are %.12s, %.12s, %s",
			m.ID, m.Image, m.Runtime, m.Spec, p.ImageDigest, p.RuntimeDigest, sandbox.SpecDigest()))
}

// key names a template made of these parts.
func (p Parts) key() string { return templateKey(sandbox.SpecDigest(), p.ImageDigest, p.RuntimeDigest) }

func templateKey(spec, image, runtime string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n", spec, image, runtime))
	return hex.EncodeToString(sum[:12])
}

// digests tells the SHA-256 of large files, and remembers them in a file: reading an image takes a
// second.
type digests struct {
	file string
	log  *slog.Logger
	told map[string]string // see Config.Sums

	mu    sync.Mutex
	known map[string]remembered // by path; nil until read
}

// remembered is a digest, and what a file looked like then: any change of the file changes one of
// them.
type remembered struct {
	Size, ModifiedNS, ChangedNS int64
	Inode                       uint64
	SHA256                      string
}

func (d *digests) of(path string) (string, error) {
	if sum, ok := d.told[path]; ok {
		return sum, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	now := remembered{Size: info.Size(), ModifiedNS: info.ModTime().UnixNano()}
	now.ChangedNS, now.Inode = changed(info)
	if d.known == nil {
		d.known = map[string]remembered{}
		if b, err := os.ReadFile(d.file); err == nil {
			_ = json.Unmarshal(b, &d.known)
		}
	}
	if old, ok := d.known[path]; ok {
		now.SHA256 = old.SHA256
		if now == old {
			return old.SHA256, nil
		}
	}
	sum, err := hashFile(path)
	if err != nil {
		return "", err
	}
	now.SHA256 = sum
	d.known[path] = now
	if err := d.save(); err != nil { // it is read again next time
		d.log.Warn("remembering the digest of a file", "file", path, "error", err)
	}
	return sum, nil
}

func (d *digests) save() error {
	b, err := json.Marshal(d.known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(d.file), "digests-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.file) // what a crash leaves half written is no JSON, and read as nothing
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}
