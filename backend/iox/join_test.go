package iox_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/forevervm/desktop/backend/iox"
)

func TestCopyChangesNothing(t *testing.T) {
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	for name, from := range map[string]func(io.Reader) io.Reader{
		"in large pieces":  func(r io.Reader) io.Reader { return r },
		"byte by byte":     iotest.OneByteReader,
		"halves":           iotest.HalfReader,
		"the end at once":  iotest.DataErrReader,
		"large, then less": func(r io.Reader) io.Reader { return &waning{r: r} },
	} {
		var to bytes.Buffer
		if err := iox.Copy(&to, from(bytes.NewReader(content))); err != nil || !bytes.Equal(to.Bytes(), content) {
			t.Errorf("%s: %d of %d bytes, %v", name, to.Len(), len(content), err)
		}
	}
}

// waning reads as much as is asked for, and little, in turn.
type waning struct {
	r     io.Reader
	turns int
}

func (w *waning) Read(b []byte) (int, error) {
	if w.turns++; w.turns%3 == 0 {
		b = b[:min(len(b), 100)]
	}
	return w.r.Read(b)
}

func TestCopySaysWhatFailed(t *testing.T) {
	broken := errors.New("broken")
	var to bytes.Buffer
	if err := iox.Copy(&to, io.MultiReader(bytes.NewReader([]byte("before")), iotest.ErrReader(broken))); !errors.Is(err, broken) || to.String() != "before" {
		t.Errorf("reading: %q, %v", to.String(), err)
	}
	r, w := io.Pipe()
	r.CloseWithError(broken)
	if err := iox.Copy(w, bytes.NewReader(make([]byte, 100))); !errors.Is(err, broken) {
		t.Errorf("writing: %v", err)
	}
}
