package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// How a pack is laid out; see FORMAT.md.
const (
	packMagic  = packMark + "\x01"
	indexMagic = indexMark + "\x01"
	packMark   = "FVMPACK" // and the version
	indexMark  = "FVMINDX" // and the version
	entrySize  = len(ID{}) + 1 + 3*4
	headerSize = len(ID{}) + 1 + 2*4 // before a block's bytes
	footerSize = 4 + len(ID{}) + len(indexMagic)

	// packSize is how large a pack gets, in bytes, before another is begun: what is rewritten for
	// the sake of one block of it that is to go.
	packSize = 16 << 20
	// maxPack bounds what is taken for a pack.
	maxPack = 1 << 30
	// maxBlock bounds a block: lists are larger than a page.
	maxBlock = 64 << 20
)

// How a block's bytes are stored.
const (
	plain      = 0
	compressed = 1
)

// entry is a block in a pack.
type entry struct {
	id     ID
	how    byte
	offset uint32 // of its header
	raw    uint32 // how many bytes it has
	stored uint32 // how many are stored
}

func (e *entry) end() int64 { return int64(e.offset) + int64(headerSize) + int64(e.stored) }

func (e *entry) header() []byte {
	b := append(make([]byte, 0, headerSize), e.id[:]...)
	b = append(b, e.how)
	b = binary.LittleEndian.AppendUint32(b, e.raw)
	return binary.LittleEndian.AppendUint32(b, e.stored)
}

// pack is a file of blocks that never changes.
type pack struct {
	name    string
	path    string
	size    int64
	entries []entry // in the order in which they lie

	number int  // in the index
	twins  int  // how many of the entries the index finds in other packs
	sound  bits // entries that Verify has read
}

func damaged(what string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(what, args...))
}

// openPack reads a pack's index.
func openPack(d disk, dir, name string) (*pack, error) {
	p := &pack{name: name, path: filepath.Join(dir, name+packSuffix)}
	f, err := d.Open(p.path)
	if err != nil {
		return nil, refused("the pack "+name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, refused("the pack "+name, err)
	}
	p.size = info.Size()
	if p.size < int64(len(packMagic)) {
		return nil, damaged("the pack %s has %d bytes", name, p.size)
	}
	head := make([]byte, len(packMagic))
	footer := make([]byte, min(int64(footerSize), p.size))
	if err := p.readAt(f, head, 0); err != nil {
		return nil, err
	}
	if err := p.readAt(f, footer, p.size-int64(len(footer))); err != nil {
		return nil, err
	}
	if newer(head, footer) {
		return nil, fmt.Errorf("the pack %s: %w", name, ErrVersion)
	}
	if len(footer) < footerSize || p.size > maxPack {
		return nil, damaged("the pack %s has %d bytes", name, p.size)
	}
	count := int64(binary.LittleEndian.Uint32(footer))
	start := p.size - int64(footerSize) - count*int64(entrySize)
	if !bytes.HasSuffix(footer, []byte(indexMagic)) || start < int64(len(packMagic))+count*int64(headerSize) {
		return nil, damaged("the pack %s has no index", name)
	}
	index := make([]byte, count*int64(entrySize))
	if err := p.readAt(f, index, start); err != nil {
		return nil, err
	}
	if p.entries, err = parseIndex(index, footer, start); err != nil {
		return nil, fmt.Errorf("the pack %s: %w", name, err)
	}
	return p, nil
}

// newer says whether a pack with these first and last bytes is of a later version: its beginning
// says so, and its end does not gainsay it, as it would where a bit has flipped in the one of a
// pack of ours.
func newer(head, footer []byte) bool {
	at := len(packMark)
	if string(head[:at]) != packMark || head[at] <= Version {
		return false
	}
	end := footer[len(footer)-len(indexMagic):]
	return string(end[:len(indexMark)]) != indexMark || end[len(indexMark)] == head[at]
}

// readAt reads a part of the pack's file. What lies behind its end is gone; what the system does
// not give back is not.
func (p *pack) readAt(f io.ReaderAt, b []byte, offset int64) error {
	switch _, err := f.ReadAt(b, offset); {
	case errors.Is(err, io.EOF):
		return damaged("the pack %s is cut off", p.name)
	case err != nil:
		return refused("the pack "+p.name, err)
	}
	return nil
}

// parseIndex reads an index whose blocks end before end.
func parseIndex(index, footer []byte, end int64) ([]entry, error) {
	if sum := idOf(index); !bytes.Equal(sum[:], footer[4:4+len(sum)]) {
		return nil, damaged("its index has changed")
	}
	entries := make([]entry, len(index)/entrySize)
	next := int64(len(packMagic))
	for i := range entries {
		e, b := &entries[i], index[i*entrySize:]
		copy(e.id[:], b)
		e.how = b[len(e.id)]
		b = b[len(e.id)+1:]
		e.offset, e.raw, e.stored = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		if int64(e.offset) != next || e.how > compressed || e.raw > maxBlock || e.stored > e.raw || e.end() > end {
			return nil, damaged("its index is none")
		}
		next = e.end()
	}
	if next != end {
		return nil, damaged("its index does not tell of everything")
	}
	return entries, nil
}

// unpack gives back a block's bytes from those that are stored, appended to b.
func (e *entry) unpack(d *zstd.Decoder, stored, b []byte) ([]byte, error) {
	from := len(b)
	if e.how == plain {
		b = append(b, stored...)
	} else {
		var head zstd.Header
		if err := head.Decode(stored); err != nil || head.HasFCS && head.FrameContentSize != uint64(e.raw) { // before anything is made for it
			return nil, damaged("block %s cannot be read", e.id)
		}
		var err error
		if b, err = d.DecodeAll(stored, b); err != nil {
			return nil, damaged("block %s cannot be read: %v", e.id, err)
		}
	}
	if len(b)-from != int(e.raw) || idOf(b[from:]) != e.id {
		return nil, damaged("block %s has changed", e.id)
	}
	return b, nil
}

func newDecoder() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		panic(err) // of the options alone
	}
	return d
}

func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // of the options alone
	}
	return e
}

// read reads one block.
func (p *pack) read(disk disk, d *zstd.Decoder, at int32) ([]byte, error) {
	f, err := disk.Open(p.path)
	if err != nil {
		return nil, refused("the pack "+p.name, err)
	}
	defer f.Close()
	e := &p.entries[at]
	stored := make([]byte, e.stored)
	if err := p.readAt(f, stored, int64(e.offset)+int64(headerSize)); err != nil {
		return nil, err
	}
	b, err := e.unpack(d, stored, nil)
	if err != nil {
		return nil, fmt.Errorf("the pack %s: %w", p.name, err)
	}
	return b, nil
}

// packer writes packs.
type packer struct {
	disk disk
	dir  string

	file    output
	path    string // of file
	buffer  []byte // not written yet
	size    int64  // of file, with buffer
	entries []entry

	made  []*pack
	bytes int64 // of all packs that were made
}

const writeBuffer = 256 << 10

// add appends a block.
func (w *packer) add(id ID, how byte, raw int, stored []byte) error {
	if w.file == nil {
		w.path = filepath.Join(w.dir, newName()+packSuffix+unfinished)
		file, err := w.disk.Create(w.path)
		if err != nil {
			return err
		}
		w.file, w.entries = file, nil
		w.buffer = append(w.buffer[:0], packMagic...)
		w.size = int64(len(packMagic))
	}
	e := entry{id: id, how: how, offset: uint32(w.size), raw: uint32(raw), stored: uint32(len(stored))}
	w.entries = append(w.entries, e)
	w.buffer = append(append(w.buffer, e.header()...), stored...)
	w.size = e.end()
	if len(w.buffer) >= writeBuffer {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.size >= packSize {
		return w.seal()
	}
	return nil
}

func (w *packer) flush() error {
	_, err := w.file.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// seal writes the index and makes the pack visible.
func (w *packer) seal() error {
	index := make([]byte, 0, len(w.entries)*entrySize)
	for i := range w.entries {
		e := &w.entries[i]
		index = append(append(index, e.id[:]...), e.how)
		index = binary.LittleEndian.AppendUint32(index, e.offset)
		index = binary.LittleEndian.AppendUint32(index, e.raw)
		index = binary.LittleEndian.AppendUint32(index, e.stored)
	}
	sum := idOf(index)
	w.buffer = append(w.buffer, index...)
	w.buffer = binary.LittleEndian.AppendUint32(w.buffer, uint32(len(w.entries)))
	w.buffer = append(append(w.buffer, sum[:]...), indexMagic...)
	w.size += int64(len(index) + footerSize)
	err := w.flush()
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	w.file = nil
	path := strings.TrimSuffix(w.path, unfinished)
	if err == nil {
		err = w.disk.Rename(w.path, path)
	}
	if err != nil {
		return errors.Join(err, w.disk.Remove(w.path))
	}
	w.made = append(w.made, &pack{name: strings.TrimSuffix(filepath.Base(path), packSuffix), path: path, size: w.size, entries: w.entries})
	w.bytes += w.size
	return nil
}

// finish makes everything visible, and durable once the folder is synced.
func (w *packer) finish() error {
	if w.file == nil {
		return nil
	}
	return w.seal()
}

// abort removes the pack that is being written. Those that were finished are harmless.
func (w *packer) abort() {
	if w.file != nil {
		w.file.Close()
		w.file = nil
		_ = w.disk.Remove(w.path)
	}
}

// scan reads a pack's blocks one by one without its index, as far as they are whole, and gives each
// to found, whose bytes are as stored and only good for the call. Where the system does not give
// them back, it fails.
func scan(r io.Reader, d *zstd.Decoder, found func(e entry, stored []byte) error) error {
	magic := make([]byte, len(packMagic))
	if _, err := io.ReadFull(r, magic); cutOff(err) || err == nil && string(magic[:len(packMark)]) != packMark {
		return damaged("it does not begin as a pack does")
	} else if err != nil {
		return refused("it", err)
	}
	header, next := make([]byte, headerSize), int64(len(packMagic))
	var stored, raw []byte
	for {
		n, err := io.ReadFull(r, header)
		if err != nil && !cutOff(err) {
			return refused("it", err)
		}
		e := entry{offset: uint32(next), how: header[len(ID{})]}
		copy(e.id[:], header)
		e.raw, e.stored = binary.LittleEndian.Uint32(header[len(ID{})+1:]), binary.LittleEndian.Uint32(header[len(ID{})+5:])
		if n < headerSize || e.how > compressed || e.raw > maxBlock || e.stored > e.raw || e.end() > maxPack {
			return nil // its end, its index, or damage, behind which nothing can be found
		}
		stored = append(stored[:0], make([]byte, e.stored)...)
		switch _, err := io.ReadFull(r, stored); {
		case cutOff(err):
			return nil
		case err != nil:
			return refused("it", err)
		}
		next = e.end()
		if raw, err = e.unpack(d, stored, raw[:0]); err != nil {
			continue
		}
		if err := found(e, stored); err != nil {
			return err
		}
	}
}

// cutOff says whether reading came to a file's end too early.
func cutOff(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
