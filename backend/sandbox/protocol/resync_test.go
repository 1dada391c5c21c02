package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

const nonce = "00112233445566778899aabbccddeeff"

func readyFrame(t testing.TB, sync string) []byte {
	t.Helper()
	b, err := Encode(map[string]any{"type": "ready", "pid": 2, "python": "3.13.5", "last_seq": 4, "running": nil, "queued": []int{5}, "sync": sync}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func resync(stream io.Reader) (Frame, *bufio.Reader, error) {
	r := bufio.NewReaderSize(stream, ResyncBuffer)
	f, err := Resync(r, nonce)
	return f, r, err
}

func TestResync(t *testing.T) {
	next, _ := Encode(map[string]any{"type": "output", "seq": 5, "index": 0, "stream": "stdout"}, []byte("next"))
	whole, _ := Encode(map[string]any{"type": "output", "seq": 4, "index": 1, "stream": "stdout"}, bytes.Repeat([]byte("{\x00\x00\x00\x10\x00\x00\x00\x00{"), 6000))
	noise := make([]byte, 300<<10)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for name, before := range map[string][]byte{
		"nothing":               nil,
		"the end of a frame":    whole[len(whole)/2:],
		"all but a byte":        whole[1:],
		"its last byte":         whole[len(whole)-1:],
		"several frames":        append(append([]byte{}, whole[77:]...), next...),
		"noise":                 noise,
		"a large payload":       bytes.Repeat([]byte("x"), MaxPayload),
		"another ready":         readyFrame(t, strings.Repeat("0", 32)),
		"the nonce in a string": []byte(fmt.Sprintf("\x00\x00\x00\x30\x00\x00\x00\x00{\"x\":%q}", nonce)),
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "in pieces": iotest.HalfReader,
		} {
			stream := bytes.Join([][]byte{before, readyFrame(t, nonce), next}, nil)
			f, r, err := resync(wrap(bytes.NewReader(stream)))
			if err != nil {
				t.Errorf("after %s, %s: %v", name, how, err)
				continue
			}
			ready, err := ParseReady(f)
			if err != nil || ready.LastSeq != 4 || ready.Sync != nonce {
				t.Errorf("after %s, %s: %+v, %v", name, how, ready, err)
			}
			if f, err := Read(r); err != nil || string(f.Payload) != "next" {
				t.Errorf("after %s, %s, the next frame is %+v, %v", name, how, f, err)
			}
		}
	}
}

func TestResyncEnds(t *testing.T) {
	if _, _, err := resync(strings.NewReader("never mind")); err != io.ErrUnexpectedEOF {
		t.Errorf("at the end: %v", err)
	}
	b := readyFrame(t, nonce)
	if _, _, err := resync(bytes.NewReader(b[:len(b)-1])); err != io.ErrUnexpectedEOF {
		t.Errorf("within the ready: %v", err)
	}
	endless := io.LimitReader(zeros{}, 1<<40)
	if _, _, err := resync(endless); !errors.Is(err, ErrViolation) {
		t.Errorf("endless noise: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
