package machine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
)

// PieceBytes is how many bytes of a file go through a machine at once.
const PieceBytes = 1 << 20

// partDigits is how long the name is of a file that is not whole yet, in hexadecimal digits.
const partDigits = 32

// Download is a file of a machine that is being read: one state of it. Where it changes meanwhile,
// reading fails. Not for use by several at once.
type Download struct {
	Size int64 // when it was opened

	fetch   func(offset int64) (FileChunk, error)
	version int64
	offset  int64
	rest    []byte
	eof     bool
}

// Open begins to read a file of a machine that is in memory.
func Open(ctx context.Context, from Files, path string) (*Download, error) {
	return NewDownload(func(offset int64) (FileChunk, error) { return from.ReadFile(ctx, path, offset, PieceBytes) })
}

// NewDownload begins to read a file, a piece at a time.
func NewDownload(fetch func(offset int64) (FileChunk, error)) (*Download, error) {
	chunk, err := fetch(0)
	if err != nil {
		return nil, err
	}
	d := &Download{Size: chunk.Size, version: chunk.Version, fetch: fetch}
	if chunk.EOF {
		d.Size = int64(len(chunk.Data)) // what the system makes up as it is read has no size
	}
	d.take(chunk)
	return d, nil
}

func (d *Download) take(chunk FileChunk) {
	d.rest = chunk.Data
	d.offset += int64(len(chunk.Data))
	d.eof = chunk.EOF || len(chunk.Data) == 0
}

// Read reads on.
func (d *Download) Read(p []byte) (int, error) {
	if len(d.rest) == 0 && !d.eof {
		chunk, err := d.fetch(d.offset)
		if err != nil {
			return 0, err
		}
		if chunk.Version != d.version || chunk.Size != d.Size {
			return 0, &Error{Kind: ErrConflict, Message: "The file was changed while it was read. Try again."}
		}
		d.take(chunk)
	}
	if len(d.rest) == 0 {
		if d.offset < d.Size {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// Send writes a whole file, which is seen when it is whole, into a machine that is in memory. The
// piece says where and how.
func Send(ctx context.Context, to Files, whole FilePiece, content io.Reader) (size int64, err error) {
	return SendPieces(ctx, whole, content, func(p FilePiece) error { return to.WriteFile(ctx, p) })
}

// SendPieces cuts content into pieces for write, in order. The last one says so.
func SendPieces(ctx context.Context, p FilePiece, content io.Reader, write func(FilePiece) error) (size int64, err error) {
	id := make([]byte, partDigits/2)
	_, _ = rand.Read(id) // never fails
	p.Part = hex.EncodeToString(id)
	buffer := make([]byte, PieceBytes)
	for !p.Last {
		n := 0
		for n < len(buffer) && !p.Last { // io.ReadFull would take a content that breaks off for a whole one
			more, err := content.Read(buffer[n:])
			n += more
			if p.Last = errors.Is(err, io.EOF); err != nil && !p.Last {
				return p.Offset, err
			}
		}
		if ctx.Err() != nil {
			return p.Offset, ctx.Err()
		}
		p.Data = buffer[:n]
		if err := write(p); err != nil {
			return p.Offset, err
		}
		p.Offset += int64(n)
	}
	return p.Offset, nil
}
