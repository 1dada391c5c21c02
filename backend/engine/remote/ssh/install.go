package ssh

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/forevervm/desktop/backend/engine/remote/parts"
	"github.com/forevervm/desktop/backend/machine"
)

// Parts are what a place is made of.
type Parts = parts.Parts

// OwnParts are those in a folder of this installation, see parts.Own.
func OwnParts(folder string) (*Parts, error) { return parts.Own(folder) }

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
		err := pack(p, w, progress)
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
func pack(p *Parts, w io.Writer, progress func(sent int64)) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	if err := p.Write(t, "", 0, progress); err != nil {
		return err
	}
	return errors.Join(t.Close(), z.Close())
}
