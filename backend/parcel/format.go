// Package parcel is a machine as one file: what it is, its state and its history, signed by who
// made it. FORMAT.md is normative.
//
// A file is taken in as a whole and compared with its signature before anything in it is looked at
// but its head; and who reads it believes none of it all the same, as its maker may mean harm.
package parcel

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"lukechampine.com/blake3"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// Version is that of the format.
	Version = 1
	// Ending is how the names of such files end.
	Ending = ".fvm"
	// MediaType is what they are.
	MediaType = "application/vnd.forevervm.machine"
	// MaxHead is how many bytes of a file ReadHead needs at most.
	MaxHead = 8 + 4 + maxHead + ed25519.PublicKeySize + ed25519.SignatureSize

	magic   = "FVMFILE"
	maxHead = 64 << 10
)

// What is signed: one of these, and the BLAKE3 of all bytes before the signature.
const (
	signedHead  = "ForeverVM machine file 1, head\n"
	signedWhole = "ForeverVM machine file 1, whole\n"
)

// Head is what a file says of itself at its beginning.
type Head struct {
	About   machine.Foreign
	Program string // the version of ForeverVM that made it
	MadeAt  time.Time
	Maker   ed25519.PublicKey
}

// document is the head as it stands in the file.
type document struct {
	Program string    `json:"program"`
	MadeAt  time.Time `json:"made_at"`
	Machine struct {
		Name     string            `json:"name"`
		Title    string            `json:"title"`
		Tags     map[string]string `json:"tags"`
		Image    string            `json:"image"`
		MemoryMB int               `json:"memory_mb"`
	} `json:"machine"`
	State struct {
		CreatedAt time.Time `json:"created_at"`
		LastSeq   int       `json:"last_seq"`
		Baseline  int64     `json:"baseline"`
		Files     []file    `json:"files"`
	} `json:"state"`
	Needs struct {
		Processor string   `json:"processor"`
		Features  []string `json:"features"`
		Image     string   `json:"image"`
		Runtime   string   `json:"runtime"`
		Spec      string   `json:"spec"`
	} `json:"needs"`
}

type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func (h *Head) document() document {
	var d document
	a := &h.About
	d.Program, d.MadeAt = h.Program, h.MadeAt.UTC()
	d.Machine.Name, d.Machine.Title, d.Machine.Tags, d.Machine.Image, d.Machine.MemoryMB = a.Name, a.Title, a.Tags, a.Image, a.MemoryMB
	d.State.CreatedAt, d.State.LastSeq, d.State.Baseline = a.State.CreatedAt.UTC(), a.State.LastSeq, a.State.Baseline
	for _, f := range a.State.Files {
		d.State.Files = append(d.State.Files, file(f))
	}
	d.Needs.Processor, d.Needs.Features = a.State.Needs.Processor, a.State.Needs.Features
	d.Needs.Image, d.Needs.Runtime, d.Needs.Spec = a.State.Needs.Image, a.State.Needs.Runtime, a.State.Needs.Spec
	return d
}

func (d *document) head() Head {
	h := Head{Program: d.Program, MadeAt: d.MadeAt}
	a := &h.About
	a.Name, a.Title, a.Tags, a.Image, a.MemoryMB = d.Machine.Name, d.Machine.Title, d.Machine.Tags, d.Machine.Image, d.Machine.MemoryMB
	a.State = machine.SavedState{CreatedAt: d.State.CreatedAt, LastSeq: d.State.LastSeq, Baseline: d.State.Baseline}
	for _, f := range d.State.Files {
		a.State.Files = append(a.State.Files, machine.StateFile(f))
	}
	a.State.Needs = machine.Needs(d.Needs)
	return h
}

// tally passes bytes on and takes their digest.
type tally struct {
	hash *blake3.Hasher
	w    io.Writer
}

func newTally(w io.Writer) *tally { return &tally{blake3.New(32, nil), w} }

func (t *tally) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	_, _ = t.hash.Write(b[:n]) // a digest takes everything
	return n, err
}

// sign adds a signature of what was written so far.
func (t *tally) sign(what string, key ed25519.PrivateKey) error {
	_, err := t.Write(ed25519.Sign(key, t.message(what)))
	return err
}

func (t *tally) message(what string) []byte { return t.hash.Sum([]byte(what)) }

// writeHead writes everything up to the state.
func (h *Head) write(to *tally, key ed25519.PrivateKey) error {
	text, err := json.Marshal(h.document())
	if err != nil {
		return err
	}
	if len(text) > maxHead {
		return &machine.Error{Kind: machine.ErrConflict, Message: "The machine's title and tags are too long for a file. Shorten them and try again."}
	}
	b := append([]byte(magic), Version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(append(b, text...), h.Maker...)
	if _, err := to.Write(b); err != nil {
		return err
	}
	return to.sign(signedHead, key)
}

// ReadHead reads the beginning of a file, MaxHead bytes of it at most. Its signature is good. The
// error is a sentence.
func ReadHead(r io.Reader) (Head, error) {
	h, _, err := readHead(r)
	return h, err
}

// readHead is ReadHead that returns all that it has read.
func readHead(r io.Reader) (Head, []byte, error) {
	var raw bytes.Buffer
	t := newTally(&raw)
	from := io.TeeReader(r, t)
	start := make([]byte, len(magic)+1+4)
	if _, err := io.ReadFull(from, start); err != nil {
		return Head{}, nil, notRead(err, "it is too short")
	}
	version, n := start[len(magic)], binary.LittleEndian.Uint32(start[len(magic)+1:])
	switch {
	case string(start[:len(magic)]) != magic:
		return Head{}, nil, &machine.Error{Kind: machine.ErrInvalid, Message: "This is no machine that ForeverVM has saved as a file. Choose one whose name ends in " + Ending + "."}
	case version != Version:
		return Head{}, nil, &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("This file is of another version (%d) than this ForeverVM knows (%d). Install the newest ForeverVM and open it again.", version, Version)}
	case n > maxHead:
		return Head{}, nil, damaged("its beginning is too long")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(from, text); err != nil {
		return Head{}, nil, notRead(err, "it ends too early")
	}
	maker := make([]byte, ed25519.PublicKeySize)
	if _, err := io.ReadFull(from, maker); err != nil {
		return Head{}, nil, notRead(err, "it ends too early")
	}
	message := t.message(signedHead)
	signature := make([]byte, ed25519.SignatureSize)
	if _, err := io.ReadFull(from, signature); err != nil {
		return Head{}, nil, notRead(err, "it ends too early")
	}
	if !ed25519.Verify(maker, message, signature) {
		return Head{}, nil, damaged("its signature does not fit")
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return Head{}, nil, damaged("its beginning makes no sense")
	}
	h := d.head()
	h.Maker = maker
	return h, raw.Bytes(), nil
}

// damaged is the error of a file that is not as its maker left it, or that no ForeverVM has made.
func damaged(what string) error {
	return &machine.Error{
		Kind: machine.ErrInvalid, Cause: errors.New(what),
		Message: "This file is not as its maker has saved it: " + what + ". Nothing was opened. Copy it again from where it comes from, or ask for it again.",
	}
}

// notRead is the error of a file that could not be read to its end: it is damaged where there is no
// more of it.
func notRead(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged(what)
	}
	return err
}
