//go:build linux

package native

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// parts are what a sandbox is made of. A checkpoint is restored with the very same.
type parts struct {
	runsc, runtime     string // the program and its digest
	image, imageDigest string // the file and its digest
}

// parts finds the image of that name and runsc, and tells their digests.
func (e *Engine) parts(image string) (parts, error) {
	if image != filepath.Base(image) || image == "." || image == ".." {
		return parts{}, &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("There is no sandbox image %q.", image)}
	}
	p := parts{runsc: e.cfg.Runsc, image: filepath.Join(e.cfg.Images, image+".erofs")}
	var err error
	if p.runtime, err = e.digests.of(p.runsc); err != nil {
		return p, missing("The program runsc is missing. Install ForeverVM again.", err)
	}
	if p.imageDigest, err = e.digests.of(p.image); err != nil {
		return p, missing(fmt.Sprintf("The sandbox image %q is missing. Install it, or choose another.", image), err)
	}
	return p, nil
}

func missing(message string, err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: message, Cause: err}
}

// config is what a supervisor is told of them.
func (p parts) config(machineDir string) sandbox.Config {
	return sandbox.Config{
		Runsc: p.runsc, RuntimeDigest: p.runtime, Image: p.image, ImageDigest: p.imageDigest,
		Machine: machineDir, PidsMax: pidsMax,
	}
}

// fits says whether these parts can restore a checkpoint.
func (p parts) fits(m checkpoint.Manifest) error {
	if m.Image == p.imageDigest && m.Runtime == p.runtime && m.Spec == sandbox.SpecDigest() {
		return nil
	}
	return unusable("This state was saved by another version of ForeverVM's sandbox and cannot be brought into memory by the present one. "+
		"Its history is whole: run its instructions again in a new machine, or go back to the version that saved it.",
		fmt.Errorf("checkpoint %s of image %.12s, runsc %.12s, spec %s; here are %.12s, %.12s, %s",
			m.ID, m.Image, m.Runtime, m.Spec, p.imageDigest, p.runtime, sandbox.SpecDigest()))
}

// key names a template made of these parts.
func (p parts) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n", sandbox.SpecDigest(), p.imageDigest, p.runtime))
	return hex.EncodeToString(sum[:12])
}

// digests tells the SHA-256 of large files, and remembers them in a file: reading an image takes a second.
type digests struct {
	file string
	log  *slog.Logger

	mu    sync.Mutex
	known map[string]remembered // by path; nil until read
}

// remembered is a digest, and what a file looked like then: any change of the file changes one of them.
type remembered struct {
	Size, ModifiedNS, ChangedNS int64
	Inode                       uint64
	SHA256                      string
}

func (d *digests) of(path string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return "", &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	now := remembered{Size: st.Size, ModifiedNS: st.Mtim.Nano(), ChangedNS: st.Ctim.Nano(), Inode: st.Ino}
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
	return renameio.WriteFile(d.file, b, 0o600)
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
