package service

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	maxFiles  = 2000
	maxPath   = 4096 // bytes
	fileTries = 5    // a machine that leaves memory in the middle of a transfer is woken for it so often

	// tidyPatience is how long it may take to remove what broke off. What is left then goes with
	// the next file that comes into that folder.
	tidyPatience = 10 * time.Second
)

// touching is inBox for what changes the machine's files. They are part of its state and saved like
// it.
func (e *entry) touching(ctx context.Context, do func(machine.Sandbox) error) error {
	for {
		err := e.inBox(ctx, func(b machine.Sandbox) error { return e.touch(ctx, b, do) })
		if !errors.Is(err, errLeaving) || ctx.Err() != nil {
			return err
		}
	}
}

// errLeaving says that nothing was begun, because the machine is leaving memory: it is to be woken
// again.
var errLeaving = errors.New("the machine is leaving memory")

// touch does what changes the machine's state, and notes that. Noted first: who moves the machine
// to the disk must know of it, or may drop a machine that it takes for one that was never used.
func (e *entry) touch(ctx context.Context, b machine.Sandbox, do func(machine.Sandbox) error) error {
	o := e.lock()
	x := o.sess
	if !x.alive(o) || x.box != b || o.life.State == machine.Swapping {
		o.unlock()
		return errLeaving
	}
	err := error(nil)
	if !o.rec.Touched {
		err = o.saveSync(ctx, func(m *machine.MachineRecord) { m.Touched = true })
	}
	x.touch(o)
	o.unlock()
	if err != nil {
		return err
	}
	err = do(b)
	o = e.lock()
	defer o.unlock()
	if o.sess != nil { // a checkpoint made meanwhile may hold half of it
		o.sess.touch(o)
	}
	if err == nil && !o.rec.Touched {
		err = o.saveSync(ctx, func(m *machine.MachineRecord) { m.Touched = true })
	}
	return err
}

// persevere repeats do where the machine left memory in its middle.
func persevere(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if !errors.Is(err, machine.ErrConflict) || tries == fileTries || ctx.Err() != nil {
			return err
		}
	}
}

// OpenFile begins to read a file. The machine may leave memory meanwhile.
func (e *entry) OpenFile(ctx context.Context, path string) (*machine.Download, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return nil, err
	}
	return machine.NewDownload(func(offset int64) (chunk machine.FileChunk, err error) {
		err = persevere(ctx, func() error {
			return e.inBox(ctx, func(b machine.Sandbox) error {
				chunk, err = b.ReadFile(ctx, path, offset, machine.PieceBytes)
				return err
			})
		})
		return chunk, err
	})
}

// PutFile writes a file into a machine, replacing what was there, all at once at the end; of one
// that breaks off nothing is seen. The machine may leave memory meanwhile, but not go back to an
// earlier state.
func (e *entry) PutFile(ctx context.Context, where string, content io.Reader) (size int64, err error) {
	if err := checkPath(where); err != nil {
		return 0, err
	}
	part := ""
	size, err = machine.SendPieces(ctx, machine.FilePiece{Path: where}, content, func(p machine.FilePiece) error {
		part = p.Part
		return persevere(ctx, func() error {
			return e.touching(ctx, func(b machine.Sandbox) error { return b.WriteFile(ctx, p) })
		})
	})
	if err != nil && size > 0 {
		e.s.spawn(func() {
			ctx, cancel := context.WithTimeout(e.s.ctx, tidyPatience)
			defer cancel()
			_ = e.touching(ctx, func(b machine.Sandbox) error {
				return b.RemoveFile(ctx, path.Join(path.Dir(where), ".forevervm-"+part+".part"))
			})
		})
	}
	return size, err
}

// ListFiles lists a folder of a machine.
func (e *entry) ListFiles(ctx context.Context, path string) (list machine.FileList, err error) {
	if err := checkPath(path); err != nil {
		return list, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return list, err
	}
	err = e.inBox(ctx, func(b machine.Sandbox) error { list, err = b.ListFiles(ctx, path, maxFiles); return err })
	return list, err
}

// StatFile tells what is at a path of a machine, links followed.
func (e *entry) StatFile(ctx context.Context, path string) (found machine.FileEntry, err error) {
	if err := checkPath(path); err != nil {
		return found, err
	}
	if err := e.refresh(ctx, path); err != nil {
		return found, err
	}
	err = e.inBox(ctx, func(b machine.Sandbox) error { found, err = b.StatFile(ctx, path); return err })
	return found, err
}

// RemoveFile removes a file of a machine, or a folder with all that is in it.
func (e *entry) RemoveFile(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return e.touching(ctx, func(b machine.Sandbox) error { return b.RemoveFile(ctx, path) })
}

// MakeFolder makes a folder in a machine, and those above it.
func (e *entry) MakeFolder(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return e.touching(ctx, func(b machine.Sandbox) error { return b.MakeFolder(ctx, path) })
}

func checkPath(path string) error {
	if path == "" {
		return machine.Invalid("Say which file or folder: the path is empty.")
	}
	if len(path) > maxPath {
		return machine.Invalid("The path is too long: at most 4096 bytes.")
	}
	return nil
}
