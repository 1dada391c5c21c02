//go:build linux

package sandbox

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func yamuxFrame(kind byte, length int, data string) string {
	b := make([]byte, 12)
	b[1] = kind
	binary.BigEndian.PutUint32(b[8:], uint32(length))
	return string(b) + data
}

// However it is cut, what streams send passes as it is, and nothing else does.
func TestStreamsOnly(t *testing.T) {
	good := yamuxFrame(yamuxWindowUpdate, 1<<20, "") + yamuxFrame(yamuxData, 5, "\x00\x02abc") + yamuxFrame(yamuxData, 0, "") + yamuxFrame(yamuxWindowUpdate, 0, "")
	for size := 1; size <= len(good); size++ {
		r := &streamsOnly{ReadCloser: io.NopCloser(strings.NewReader(good))}
		var got strings.Builder
		if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{r}, make([]byte, size)); err != nil || got.String() != good {
			t.Fatalf("read by %d: %q, %v", size, got.String(), err)
		}
		for _, kind := range []byte{2, 3, 255} {
			r := &streamsOnly{ReadCloser: io.NopCloser(strings.NewReader(good + yamuxFrame(kind, 7, "")))}
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, size)); err == nil {
				t.Fatalf("a frame of the type %d passes", kind)
			}
		}
	}
}

// While it is held, nothing is written, and afterwards nothing is missing.
func TestGated(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g := &gated{w: w}
	said := strings.Repeat("0123456789", 100_000)
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(g, said)
		wrote <- errors.Join(err, g.Close())
	}()
	first := make([]byte, 1000) // it has begun
	if _, err := io.ReadFull(r, first); err != nil {
		t.Fatal(err)
	}
	release := g.hold()
	held, buffer := 0, make([]byte, 1<<20)
	for {
		_ = r.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := r.Read(buffer[held:])
		held += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if held >= len(said)-len(first) {
		t.Error("it was not held")
	}
	_ = r.SetReadDeadline(time.Time{})
	release()
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(first) + string(buffer[:held]) + string(rest); got != said {
		t.Errorf("%d bytes came of %d", len(got), len(said))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func TestSkipTo(t *testing.T) {
	r := strings.NewReader("\x00aabaabxaababzrest")
	if err := skipTo(r, "aabab"); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "zrest" {
		t.Errorf("%q follows", rest)
	}
	if skipTo(strings.NewReader("aaba"), "aabab") == nil {
		t.Error("half a word is one")
	}
}
