package parcel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// pieceSize is how many bytes of a stream are written at a time.
const pieceSize = 1 << 20

// How a piece is written.
const (
	pieceEnd   = 0 // none: the stream ends
	pieceZeros = 1
	piecePlain = 2
	pieceZstd  = 3
)

// pieces writes streams, in pieces.
type pieces struct {
	to      io.Writer
	encoder *zstd.Encoder
	buffer  []byte // of the stream that is being written
	packed  []byte
}

func newPieces(to io.Writer) (*pieces, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	return &pieces{to: to, encoder: encoder, buffer: make([]byte, 0, pieceSize)}, err
}

// Write adds to the present stream.
func (p *pieces) Write(b []byte) (int, error) {
	written := 0
	for len(b) > 0 {
		n := min(len(b), pieceSize-len(p.buffer))
		p.buffer = append(p.buffer, b[:n]...)
		b, written = b[n:], written+n
		if len(p.buffer) == pieceSize {
			if err := p.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// end ends the present stream.
func (p *pieces) end() error {
	if len(p.buffer) > 0 {
		if err := p.flush(); err != nil {
			return err
		}
	}
	_, err := p.to.Write([]byte{pieceEnd})
	return err
}

func (p *pieces) flush() error {
	n := uint32(len(p.buffer))
	how, content := byte(piecePlain), p.buffer
	if bytes.Equal(p.buffer, zeros[:n]) {
		how, content = pieceZeros, nil
	} else if p.packed = p.encoder.EncodeAll(p.buffer, p.packed[:0]); len(p.packed) < len(p.buffer)-len(p.buffer)/16 {
		how, content = pieceZstd, p.packed
	}
	head := binary.LittleEndian.AppendUint32([]byte{how}, n)
	if how == pieceZstd {
		head = binary.LittleEndian.AppendUint32(head, uint32(len(content)))
	}
	p.buffer = p.buffer[:0]
	if _, err := p.to.Write(head); err != nil {
		return err
	}
	_, err := p.to.Write(content)
	return err
}

var zeros = make([]byte, pieceSize)

// streams reads what pieces has written, one stream after another.
type streams struct {
	from    *bufio.Reader
	decoder *zstd.Decoder
	left    []byte // of the present piece
	buffer  []byte
	packed  []byte
	ended   bool // the present stream
}

func newStreams(from io.Reader) (*streams, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(pieceSize), zstd.WithDecodeAllCapLimit(true))
	return &streams{from: bufio.NewReaderSize(from, 64<<10), decoder: decoder}, err
}

func (s *streams) close() { s.decoder.Close() }

// next begins the next stream; the one before must have been read to its end.
func (s *streams) next() { s.ended = false }

// Read reads the present stream.
func (s *streams) Read(b []byte) (int, error) {
	for len(s.left) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		if err := s.piece(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.left)
	s.left = s.left[n:]
	return n, nil
}

func (s *streams) piece() error {
	how, err := s.from.ReadByte()
	if err != nil {
		return notRead(err, "it ends too early")
	}
	if how == pieceEnd {
		s.ended = true
		return nil
	}
	size, err := s.length()
	if err != nil {
		return err
	}
	s.buffer = slices.Grow(s.buffer[:0], size)[:size]
	s.left = s.buffer
	switch how {
	case pieceZeros:
		clear(s.left)
		return nil
	case piecePlain:
		_, err := io.ReadFull(s.from, s.left)
		return notRead(err, "it ends too early")
	case pieceZstd:
	default:
		return damaged("it has a piece of no known kind")
	}
	stored, err := s.length()
	if err != nil {
		return err
	}
	s.packed = slices.Grow(s.packed[:0], stored)[:stored]
	if _, err := io.ReadFull(s.from, s.packed); err != nil {
		return notRead(err, "it ends too early")
	}
	raw, err := s.decoder.DecodeAll(s.packed, s.buffer[:0:size]) // which may not be longer
	if err != nil || len(raw) != size {
		return damaged("a piece of it cannot be read")
	}
	return nil
}

// length reads how many bytes a piece has.
func (s *streams) length() (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(s.from, b[:]); err != nil {
		return 0, notRead(err, "it ends too early")
	}
	n := binary.LittleEndian.Uint32(b[:])
	if n == 0 || n > pieceSize {
		return 0, damaged("a piece of it has a size that none can have")
	}
	return int(n), nil
}
