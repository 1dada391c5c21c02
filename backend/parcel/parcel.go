package parcel

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Source is the machine that a file is made of. A machine.Packed is one.
type Source interface {
	// Open opens one of the state's files.
	Open(name string) (io.ReadCloser, error)
	// History calls yield with each instruction, in order.
	History(ctx context.Context, yield func(machine.Told) error) error
}

// Write writes a machine as a file, signed with a key. It holds a piece of it in memory at a time.
// Without an error, it is whole.
func Write(ctx context.Context, w io.Writer, about machine.Foreign, from Source, key ed25519.PrivateKey, program string, at time.Time) error {
	out := bufio.NewWriterSize(w, 256<<10)
	t := newTally(out)
	head := Head{About: about, Program: program, MadeAt: at, Maker: key.Public().(ed25519.PublicKey)}
	if err := head.write(t, key); err != nil {
		return err
	}
	s, err := newPieces(t)
	if err != nil {
		return err
	}
	defer func() { _ = s.encoder.Close() }() // it writes nothing on its own
	for _, f := range about.State.Files {
		if err := writeFile(ctx, s, from, f); err != nil {
			return err
		}
	}
	err = from.History(ctx, func(in machine.Told) error {
		if err := writeInstruction(s, &in.Instruction); err != nil {
			return err
		}
		return in.Items(func(it machine.Item) error { return writeItem(s, &it) })
	})
	if err == nil {
		err = s.end()
	}
	if err == nil {
		err = t.sign(signedWhole, key)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func writeFile(ctx context.Context, s *pieces, from Source, f machine.StateFile) error {
	content, err := from.Open(f.Name)
	if err != nil {
		return err
	}
	defer content.Close()
	n, err := io.Copy(s, reader{ctx, content})
	if err == nil && n != f.Size {
		err = fmt.Errorf("%s has %d bytes and not %d", f.Name, n, f.Size)
	}
	return errors.Join(err, s.end())
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// Parcel is a file that was taken in and is as its maker signed it. It implements machine.Parcel.
type Parcel struct {
	Head    Head
	copy    *os.File
	streams *streams
}

// receive takes in a file: it copies it into dir, and compares it with its signature. accept has a
// look at its head before the rest is read, and may refuse; room says, now and then, whether there
// is room for more.
func receive(ctx context.Context, r io.Reader, dir string, accept func(Head) error, room func() error) (_ *Parcel, err error) {
	r = reader{ctx, r}
	head, raw, err := readHead(r)
	if err != nil {
		return nil, err
	}
	if err := accept(head); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "*"+Ending)
	if err != nil {
		return nil, err
	}
	p := &Parcel{Head: head, copy: f}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	body, err := copySigned(f, r, raw, head.Maker, room)
	if err != nil {
		return nil, err
	}
	p.streams, err = newStreams(io.NewSectionReader(f, int64(len(raw)), body))
	return p, err
}

// Verify reads a whole file, and returns an error where it is not as its maker signed it. Whether
// the maker is known does not matter.
func Verify(ctx context.Context, r io.Reader) error {
	r = reader{ctx, r}
	head, raw, err := readHead(r)
	if err != nil {
		return err
	}
	_, err = copySigned(io.Discard, r, raw, head.Maker, func() error { return nil })
	return err
}

// copySigned copies a file whose beginning was read already, and compares it with the signature
// that it ends with. body is how many bytes are between the two.
func copySigned(to io.Writer, from io.Reader, beginning []byte, maker ed25519.PublicKey, room func() error) (body int64, err error) {
	const roomEvery = 64 << 20 // bytes
	t := newTally(to)
	if _, err := t.Write(beginning); err != nil {
		return 0, err
	}
	buffer := make([]byte, 256<<10)
	held := 0 // bytes at the buffer's beginning that may be the signature
	for since := int64(roomEvery); ; {
		if since >= roomEvery {
			if err := room(); err != nil {
				return 0, err
			}
			since = 0
		}
		n, err := from.Read(buffer[held:])
		held += n
		if held > ed25519.SignatureSize {
			sure := held - ed25519.SignatureSize
			if _, err := t.Write(buffer[:sure]); err != nil {
				return 0, err
			}
			body, since = body+int64(sure), since+int64(sure)
			held = copy(buffer, buffer[sure:held])
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if held < ed25519.SignatureSize || !ed25519.Verify(maker, t.message(signedWhole), buffer[:held]) {
		return 0, damaged("its signature does not fit")
	}
	return body, nil
}

// Close removes what was taken in.
func (p *Parcel) Close() {
	if p.streams != nil {
		p.streams.close()
	}
	_ = p.copy.Close()
	_ = os.Remove(p.copy.Name())
}

// About is what the machine is.
func (p *Parcel) About() machine.Foreign { return p.Head.About }

// NextFile reads the next of the state's files.
func (p *Parcel) NextFile(machine.StateFile) (io.Reader, error) {
	p.streams.next()
	return p.streams, nil
}

// History calls yield with each instruction.
func (p *Parcel) History(ctx context.Context, yield func(machine.Told) error) error {
	p.streams.next()
	e := entries{from: p.streams}
	if err := e.each(ctx, yield); err != nil {
		return err
	}
	if _, err := p.streams.from.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged("it does not end where it should")
	}
	return nil
}
