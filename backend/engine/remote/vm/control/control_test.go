package control

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// The reader skips the rest of an earlier line, and lines that are too long.
func TestWhatMakesNoSense(t *testing.T) {
	var line bytes.Buffer
	line.WriteString("\x00\xff half of an ord")
	for _, o := range []Order{{Number: 1, Type: Tell, Now: 5}, {Number: 2, Type: Agent, Mark: "mark"}} {
		if err := Write(&line, o); err != nil {
			t.Fatal(err)
		}
		line.WriteString(`{"number": 7, "type": "` + strings.Repeat("x", 3*mostLine) + "\"}\n[1]\n\n{\"number\": \"one\"}\n{")
	}
	r := NewReader[Order](&line)
	for _, want := range []Order{{Number: 1, Type: Tell, Now: 5}, {Number: 2, Type: Agent, Mark: "mark"}} {
		if got, err := r.Next(); err != nil || got != want {
			t.Errorf("read is %+v, %v", got, err)
		}
	}
	if got, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end, read is %+v, %v", got, err)
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte("\n{\"number\":1,\"ready\":true}\n"))
	f.Add([]byte("{\"number\":1\n\x00\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader[Report](bytes.NewReader(b))
		for n := 0; ; n++ {
			if _, err := r.Next(); err != nil {
				return
			}
			if n > len(b) {
				t.Fatal("more comes than there is")
			}
		}
	})
}
