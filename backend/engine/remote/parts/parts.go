// Package parts is what a place is made of, to be sent there: the agent, and what it makes
// sandboxes of.
package parts

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/forevervm/desktop/backend/machine"
)

// Mark is the line, without its end, with which an agent that is asked for its digest begins: it is
// ours. The digest follows in the same line.
const Mark = "ForeverVM place "

// Done is what an agent says that has unpacked parts.
const Done = "forevervm-done"

// Parts are what a place is made of.
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

// Own are those in a folder of this installation, which are for a processor like this one's. It
// reads them whole.
func Own(folder string) (*Parts, error) {
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

// Write writes all parts into a tar file, in a folder there, as files of a user with that number:
// and beside them `sums`, as sha256sum checks them, and last of all `digest`. progress, which may
// be nil, is called with how many bytes of the parts have been read, of p.Size.
func (p *Parts) Write(t *tar.Writer, folder string, user int, progress func(sent int64)) error {
	text := func(name, content string) error {
		err := t.WriteHeader(&tar.Header{Name: path.Join(folder, name), Mode: 0o644, Uid: user, Gid: user, Size: int64(len(content))})
		if err == nil {
			_, err = io.WriteString(t, content)
		}
		return err
	}
	if err := text("sums", p.sums); err != nil {
		return err
	}
	sent := int64(0)
	for _, f := range p.files {
		if err := t.WriteHeader(&tar.Header{Name: path.Join(folder, f.name), Mode: f.mode, Uid: user, Gid: user, Size: f.size}); err != nil {
			return err
		}
		from, err := os.Open(f.path)
		if err != nil {
			return err
		}
		n, err := io.Copy(t, io.TeeReader(from, counter(func(n int) {
			if sent += int64(n); progress != nil {
				progress(sent)
			}
		})))
		if from.Close(); n < f.size {
			err = cmp.Or(err, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return fmt.Errorf("send %s: %w", f.name, err)
		}
	}
	return text("digest", p.Digest+"\n")
}

// counter tells how many bytes are written to it.
type counter func(int)

func (c counter) Write(b []byte) (int, error) { c(len(b)); return len(b), nil }
