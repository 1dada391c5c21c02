package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// raw makes the bytes of a frame with lengths that need not be true.
func raw(h, p uint32, rest string) []byte {
	b := binary.BigEndian.AppendUint32(nil, h)
	b = binary.BigEndian.AppendUint32(b, p)
	return append(b, rest...)
}

func TestReadWrite(t *testing.T) {
	var stream bytes.Buffer
	want := []string{"", "payload", strings.Repeat("x", MaxPayload)}
	for _, payload := range want {
		if err := Write(&stream, map[string]any{"type": "output", "n": 7, "text": "ä\x00"}, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.OneByteReader(&stream)
	if testing.Short() {
		r = &stream
	}
	for _, payload := range want {
		f, err := Read(r)
		if err != nil {
			t.Fatal(err)
		}
		var h struct {
			N    int
			Text string
		}
		if err := f.Decode(&h); err != nil || f.Type != "output" || h.N != 7 || h.Text != "ä\x00" || string(f.Payload) != payload {
			t.Errorf("read %q %s with %d bytes, %v", f.Type, f.Header, len(f.Payload), err)
		}
	}
	if _, err := Read(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"no header":         raw(0, 0, ""),
		"header too short":  raw(1, 0, "{"),
		"header too long":   raw(MaxHeader+1, 0, `{"type":"x"}`),
		"payload too long":  raw(12, MaxPayload+1, `{"type":"x"}`),
		"endless":           raw(0xffffffff, 0xffffffff, ""),
		"not JSON":          raw(12, 0, `{"type":"x"]`),
		"a list":            raw(12, 0, `["type","x"]`),
		"a string":          raw(12, 0, `"type......"`),
		"no type":           raw(12, 0, `{"typo":"x"}`),
		"type not a string": raw(10, 0, `{"type":7}`),
		"empty type":        raw(11, 0, `{"type":""}`),
		"type null":         raw(13, 0, `{"type":null}`),
		"not UTF-8":         raw(12, 0, "{\"type\":\"\xff\"}"),
		"two objects":       raw(14, 0, `{"type":"x"}{}`),
		"too deep":          raw(10+20+20+1, 0, `{"type":"x","a":`+strings.Repeat("[", 20)+strings.Repeat("]", 20)+`}`)[:8+51],
	} {
		if _, err := Read(bytes.NewReader(b)); !errors.Is(err, ErrViolation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"within lengths": raw(12, 3, "")[:5],
		"within header":  raw(12, 3, `{"type"`),
		"within payload": raw(12, 3, `{"type":"x"}ab`),
	} {
		if _, err := Read(bytes.NewReader(b)); err != io.ErrUnexpectedEOF {
			t.Errorf("cut %s: %v", name, err)
		}
	}
}

// A frame that claims much and sends nothing costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	b := raw(12, MaxPayload, `{"type":"x"}`)
	allocated := testing.AllocsPerRun(10, func() { _, _ = Read(bytes.NewReader(b)) })
	bench := testing.Benchmark(func(b2 *testing.B) {
		b2.ReportAllocs()
		for b2.Loop() {
			_, _ = Read(bytes.NewReader(b))
		}
	})
	if bench.AllocedBytesPerOp() > 256<<10 {
		t.Errorf("%d bytes in %v allocations for a claim", bench.AllocedBytesPerOp(), allocated)
	}
}

// A frame that comes costs its length and little more.
func TestFramesCostTheirLength(t *testing.T) {
	b := append(raw(12, MaxPayload, `{"type":"x"}`), make([]byte, MaxPayload)...)
	bench := testing.Benchmark(func(bench *testing.B) {
		bench.ReportAllocs()
		for bench.Loop() {
			if _, err := Read(bytes.NewReader(b)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if taken := bench.AllocedBytesPerOp(); taken > MaxPayload+2<<20 {
		t.Errorf("%d bytes of memory for a frame of %d", taken, len(b))
	}
}

func TestEncodeBounds(t *testing.T) {
	if _, err := Encode(map[string]string{"type": "x"}, make([]byte, MaxPayload+1)); err == nil {
		t.Error("a payload that is too large was encoded")
	}
	if _, err := Encode(map[string]string{"type": strings.Repeat("x", MaxHeader)}, nil); err == nil {
		t.Error("a header that is too large was encoded")
	}
}
