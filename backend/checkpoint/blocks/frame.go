package blocks

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A file that is small is no list of blocks: its list is a frame, which holds its bytes, compressed
// with those of another, its base, as a dictionary. The kernel's state is such a file: a counter
// that has grown moves all behind it by a byte, so every page of it differs, and little of it is
// new.

// mostFrame is how large a file is, in bytes, that becomes a frame, at most: who reads one has it
// in memory, and its base, too.
const mostFrame = 4 << 20

// frameWindow is how far back a frame refers: its own bytes and those of its base.
const frameWindow = 2 * mostFrame

// frameDictionary is the number that a frame gives its base: it has only one.
const frameDictionary = 1

// encodeFrame writes the bytes of a file as a list; base is nil for none.
func encodeFrame(b []byte, units int, baseID ID, base []byte) []byte {
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithWindowSize(frameWindow)}
	depth := 0
	if base != nil {
		depth = 1
		options = append(options, zstd.WithEncoderDictRaw(frameDictionary, base))
	}
	e, err := zstd.NewWriter(nil, options...)
	if err != nil {
		panic(err) // of the options alone
	}
	return e.EncodeAll(b, appendListHead(nil, frameVersion, depth, baseID, units))
}

// decodeFrame reads what encodeFrame wrote behind the head of the list; base is nil for none.
func decodeFrame(h listHead, frame, base []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(frame); err != nil || !head.HasFCS || head.FrameContentSize > mostFrame || unitsOf(int64(head.FrameContentSize)) != h.units {
		return nil, damaged("a frame is not as long as its file") // before anything is made for it
	}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameWindow)}
	if base != nil {
		options = append(options, zstd.WithDecoderDictRaw(frameDictionary, base))
	}
	d, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	defer d.Close()
	b, err := d.DecodeAll(frame, make([]byte, 0, head.FrameContentSize))
	if err != nil || uint64(len(b)) != head.FrameContentSize {
		return nil, damaged("a frame cannot be read: %v", err)
	}
	return b, nil
}

// frame keeps a small file.
func (w *putting) frame(in io.Reader, f *File) (ID, error) {
	w.s.rush.wait(w.ctx)
	if err := w.ctx.Err(); err != nil {
		return zero, err
	}
	b := make([]byte, f.Size)
	if _, err := io.ReadFull(in, b); err != nil {
		return zero, err
	}
	if err := atEnd(in); err != nil {
		return zero, err
	}
	near := w.nearby(f.Name)
	if near.frame != nil && bytes.Equal(near.frame, b) {
		return near.ids[0], nil
	}
	var best []byte
	if near.endFrame != nil {
		best = encodeFrame(b, f.units(), near.ids[len(near.ids)-1], near.endFrame)
	}
	if best == nil || len(best) > len(near.endStored)/2 { // they have too little in common any more for what reading two takes
		if alone := encodeFrame(b, f.units(), zero, nil); best == nil || len(best) > len(alone)/2 {
			best = alone
		}
	}
	id := idOf(best)
	if _, known := w.s.find(id); known || w.fresh[id] {
		return id, nil
	}
	return id, w.add(id, best)
}
