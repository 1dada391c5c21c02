package machine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"time"
)

const (
	maxFiles   = 2000
	maxPath    = 4096    // bytes
	filePiece  = 1 << 20 // bytes of a file that go through a machine at once
	fileTries  = 5       // a machine that leaves memory in the middle of a transfer is woken for it so often
	partDigits = 32

	// tidyPatience is how long it may take to remove what broke off. What is left then goes with the next file that comes into that folder.
	tidyPatience = 10 * time.Second
)

// touching is inBox for what changes the machine's files. They are part of its state and saved like it.
func (e *entry) touching(ctx context.Context, do func(Sandbox) error) error {
	for {
		err := e.inBox(ctx, func(b Sandbox) error { return e.touch(ctx, b, do) })
		if !errors.Is(err, errLeaving) || ctx.Err() != nil {
			return err
		}
	}
}

// errLeaving says that nothing was begun, because the machine is leaving memory: it is to be woken again.
var errLeaving = errors.New("the machine is leaving memory")

// touch does what changes the machine's state, and notes that. Noted first: who moves the machine to the disk must know of it, or may drop a machine that
// it takes for one that was never used. mu is not held.
func (e *entry) touch(ctx context.Context, b Sandbox, do func(Sandbox) error) error {
	e.mu.Lock()
	x := e.sess
	if !x.alive() || x.box != b || e.state == Swapping {
		e.mu.Unlock()
		return errLeaving
	}
	err := error(nil)
	if !e.rec.Touched {
		err = e.saveSync(ctx, func(m *MachineRecord) { m.Touched = true })
	}
	x.touch()
	e.mu.Unlock()
	if err != nil {
		return err
	}
	err = do(b)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sess != nil { // a checkpoint made meanwhile may hold half of it
		e.sess.touch()
	}
	if err == nil && !e.rec.Touched {
		err = e.saveSync(ctx, func(m *MachineRecord) { m.Touched = true })
	}
	return err
}

// persevere repeats do where the machine left memory in its middle.
func persevere(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if !errors.Is(err, ErrConflict) || tries == fileTries || ctx.Err() != nil {
			return err
		}
	}
}

// Download is a file of a machine that is being read: one state of it. Where it changes meanwhile, reading fails. Not for use by several at once.
type Download struct {
	Size int64 // when it was opened

	fetch   func(offset int64) (FileChunk, error)
	version int64
	offset  int64
	rest    []byte
	eof     bool
}

// OpenFile begins to read a file. The machine may leave memory meanwhile.
func (e *entry) OpenFile(ctx context.Context, path string) (*Download, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return nil, err
	}
	return open(func(offset int64) (chunk FileChunk, err error) {
		err = persevere(ctx, func() error {
			return e.inBox(ctx, func(b Sandbox) error { chunk, err = b.ReadFile(ctx, path, offset, filePiece); return err })
		})
		return chunk, err
	})
}

// Open begins to read a file of a machine that is in memory.
func Open(ctx context.Context, from Files, path string) (*Download, error) {
	return open(func(offset int64) (FileChunk, error) { return from.ReadFile(ctx, path, offset, filePiece) })
}

func open(fetch func(offset int64) (FileChunk, error)) (*Download, error) {
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

// PutFile writes a file into a machine, replacing what was there, all at once at the end; of one that breaks off nothing is seen. The machine
// may leave memory meanwhile, but not go back to an earlier state.
func (e *entry) PutFile(ctx context.Context, where string, content io.Reader) (size int64, err error) {
	if err := checkPath(where); err != nil {
		return 0, err
	}
	part := ""
	size, err = send(ctx, FilePiece{Path: where}, content, func(p FilePiece) error {
		part = p.Part
		return persevere(ctx, func() error {
			return e.touching(ctx, func(b Sandbox) error { return b.WriteFile(ctx, p) })
		})
	})
	if err != nil && size > 0 {
		e.s.spawn(func() {
			ctx, cancel := context.WithTimeout(e.s.ctx, tidyPatience)
			defer cancel()
			_ = e.touching(ctx, func(b Sandbox) error {
				return b.RemoveFile(ctx, path.Join(path.Dir(where), ".forevervm-"+part+".part"))
			})
		})
	}
	return size, err
}

// Send writes a whole file as PutFile does, into a machine that is in memory. The piece says where and how.
func Send(ctx context.Context, to Files, whole FilePiece, content io.Reader) (size int64, err error) {
	return send(ctx, whole, content, func(p FilePiece) error { return to.WriteFile(ctx, p) })
}

// send cuts content into pieces.
func send(ctx context.Context, p FilePiece, content io.Reader, write func(FilePiece) error) (size int64, err error) {
	id := make([]byte, partDigits/2)
	_, _ = rand.Read(id) // never fails
	p.Part = hex.EncodeToString(id)
	buffer := make([]byte, filePiece)
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

// ListFiles lists a folder of a machine.
func (e *entry) ListFiles(ctx context.Context, path string) (list FileList, err error) {
	if err := checkPath(path); err != nil {
		return list, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return list, err
	}
	err = e.inBox(ctx, func(b Sandbox) error { list, err = b.ListFiles(ctx, path, maxFiles); return err })
	return list, err
}

// StatFile tells what is at a path of a machine, links followed.
func (e *entry) StatFile(ctx context.Context, path string) (found FileEntry, err error) {
	if err := checkPath(path); err != nil {
		return found, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return found, err
	}
	err = e.inBox(ctx, func(b Sandbox) error { found, err = b.StatFile(ctx, path); return err })
	return found, err
}

// RemoveFile removes a file of a machine, or a folder with all that is in it.
func (e *entry) RemoveFile(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return e.touching(ctx, func(b Sandbox) error { return b.RemoveFile(ctx, path) })
}

// MakeFolder makes a folder in a machine, and those above it.
func (e *entry) MakeFolder(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return e.touching(ctx, func(b Sandbox) error { return b.MakeFolder(ctx, path) })
}

func checkPath(path string) error {
	if path == "" {
		return invalid("Say which file or folder: the path is empty.")
	}
	if len(path) > maxPath {
		return invalid("The path is too long: at most 4096 bytes.")
	}
	return nil
}
