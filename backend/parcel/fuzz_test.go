package parcel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// FuzzHead reads the beginning of a file.
func FuzzHead(f *testing.F) {
	content := newSample().file(f, testKey(1))
	f.Add(content)
	f.Add(content[:100])
	f.Add([]byte(magic + "\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ReadHead(bytes.NewReader(b)); err != nil {
			var sentence *machine.Error
			if !errors.As(err, &sentence) {
				t.Errorf("no sentence: %v", err)
			}
		}
	})
}

// FuzzContent reads what a maker has signed: a file of the state, and a history.
func FuzzContent(f *testing.F) {
	content := newSample().file(f, testKey(1))
	_, head, err := readHead(bytes.NewReader(content))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content[len(head) : len(content)-64])
	one := newSample()
	one.about.State.Files = one.about.State.Files[:1]
	content = one.file(f, testKey(1))
	if _, head, err = readHead(bytes.NewReader(content)); err != nil {
		f.Fatal(err)
	}
	f.Add(content[len(head) : len(content)-64])
	f.Add([]byte{pieceZeros, 0, 0, 16, 0, pieceEnd, pieceEnd})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := newStreams(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		p := &Parcel{streams: s}
		const most = 8 << 20 // a few bytes may say that they are thousands of zeros
		file, _ := p.NextFile(machine.StateFile{})
		if n, err := io.Copy(io.Discard, io.LimitReader(file, most)); err != nil || n == most {
			return
		}
		err = p.History(context.Background(), func(told machine.Told) error {
			if len(told.Code)+len(told.Error)+len(told.ErrorANSI) > maxEntry {
				t.Error("an instruction is too large")
			}
			return told.Items(func(it machine.Item) error {
				if len(it.Text) > maxEntry {
					t.Error("an item is too large")
				}
				return nil
			})
		})
		if err != nil {
			var sentence *machine.Error
			if !errors.As(err, &sentence) {
				t.Errorf("no sentence: %v", err)
			}
		}
	})
}
