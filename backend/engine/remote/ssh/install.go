package ssh

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/forevervm/desktop/backend/machine"
)

// Parts are what a place is made of: the agent, and what it makes sandboxes of.
type Parts struct {
	Processor string // as Go calls its architecture
	Digest    string // of all of them
	Size      int64  // bytes
	files     []part
	sums      string // as sha256sum checks them
}

type part struct {
	name, path string
	size, mode int64
}

// shipped are the files of a place, programs first.
var shipped = []struct {
	name string
	mode int64
}{{"agent", 0o755}, {"supervisor", 0o755}, {"runsc", 0o755}, {"image/base.erofs", 0o644}}

// OwnParts are those in a folder of this installation, which are for a processor like this one's.
// It reads them whole.
func OwnParts(folder string) (*Parts, error) {
	p := &Parts{Processor: runtime.GOARCH}
	for _, s := range shipped {
		path := filepath.Join(folder, filepath.FromSlash(s.name))
		sum, size, err := digest(path)
		if err != nil {
			return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "This installation of ForeverVM lacks a part that the place needs: " + s.name + ". Install ForeverVM again.", Cause: err}
		}
		p.files = append(p.files, part{s.name, path, size, s.mode})
		p.sums += sum + "  " + s.name + "\n"
		p.Size += size
	}
	all := sha256.Sum256([]byte(p.sums))
	p.Digest = hex.EncodeToString(all[:])
	return p, nil
}

func digest(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// unpack takes a tar file, checks what came, and puts it in the place of what is there. What breaks
// off on the way changes nothing.
const unpack = `set -e; umask 077; d="$HOME/` + Folder + `"; mkdir -p "$d"; rm -rf "$d/bin.new" "$d/bin.old"; mkdir "$d/bin.new"; cd "$d/bin.new"; ` +
	`tar xzf -; sha256sum -c sums >/dev/null; test "$(sha256sum <sums | cut -d " " -f 1)" = "$(cat digest)"; cd ..; ` +
	`if test -e bin; then mv bin bin.old; fi; mv bin.new bin; ` + keep + `rm -rf bin.old; echo forevervm-done`

// keep keeps the image and runsc of the version before among the parts that machines may need which
// it has saved (package engine/local). The agent removes them when none does.
const keep = `for f in runsc image/base.erofs; do if test -e "bin.old/$f" && ! cmp -s "bin/$f" "bin.old/$f"; then ` +
	`s=$(sha256sum <"bin.old/$f" | cut -d " " -f 1); mkdir -p "data/parts/$s"; mv "bin.old/$f" "data/parts/$s/"; fi; done; `

// Install puts the parts there. progress, which may be nil, is called with how many bytes of them
// have been read, of p.Size.
func (h Host) Install(ctx context.Context, p *Parts, progress func(sent int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := p.pack(w, progress)
		w.CloseWithError(err)
		packed <- err
	}()
	out, err := h.run(ctx, unpack, r)
	r.CloseWithError(errors.New("the other end takes no more"))
	if wrong := <-packed; err == nil && wrong != nil {
		err = wrong
	}
	if err == nil && !strings.Contains(string(out), "forevervm-done") {
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: "What came to " + string(h) + " is not what was sent. Try again."}
	}
	return err
}

// pack writes all parts as a tar file, compressed: by that a gigabyte becomes a third of one.
func (p *Parts) pack(w io.Writer, progress func(sent int64)) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for name, content := range map[string]string{"sums": p.sums, "digest": p.Digest + "\n"} {
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, content); err != nil {
			return err
		}
	}
	sent := int64(0)
	for _, f := range p.files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: f.size}); err != nil {
			return err
		}
		from, err := os.Open(f.path)
		if err != nil {
			return err
		}
		_, err = io.Copy(t, io.TeeReader(from, counter(func(n int) {
			if sent += int64(n); progress != nil {
				progress(sent)
			}
		})))
		from.Close()
		if err != nil {
			return fmt.Errorf("send %s: %w", f.name, err)
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// counter tells how many bytes are written to it.
type counter func(int)

func (c counter) Write(b []byte) (int, error) { c(len(b)); return len(b), nil }
