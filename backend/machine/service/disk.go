package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// reserveBytes is held back for deleting, which must work on a full disk: the record of it takes room before it gives any.
	reserveBytes = 32 << 20
	// leastSave is what a save is expected to take where no earlier one tells, in bytes.
	leastSave = 64 << 20
	// maxKept is how many checkpoints of a machine may be kept by hand.
	maxKept = 50
)

// reserve is a file that takes room on the disk until it is given up for deleting something.
type reserve struct {
	mu   sync.Mutex
	path string
}

// fill makes the file when it is missing.
func (r *reserve) fill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info, err := os.Stat(r.path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.Reader, reserveBytes) // nothing that a file system could make smaller
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(r.path))
	}
	return nil
}

// release gives the room up, and says whether there was any.
func (r *reserve) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.Remove(r.path) == nil
}

// deleting does something that frees space, on a full disk with the help of the reserve. The keeper makes it anew.
func (s *Service) deleting(do func() error) error {
	err := do()
	if errors.Is(err, machine.ErrDiskFull) && s.reserve.release() {
		err = do()
	}
	return err
}

// writeSyncDeleting is WriteSync for what leads to space being freed.
func (s *Service) writeSyncDeleting(ctx context.Context, change func(machine.Writer) error) error {
	return s.deleting(func() error { return s.store.WriteSync(ctx, change) })
}

// free is how many bytes are free where the data lies; -1 when that is not known.
func (s *Service) free() int64 {
	if s.freeDisk != nil {
		if n, err := s.freeDisk(); err == nil {
			return n
		}
	}
	return -1
}

// roomForMore refuses what is new while the disk is nearly full, so that what exists can go on and be saved.
func (s *Service) roomForMore() error {
	free := s.free()
	if free < 0 || free >= s.set.Load().MinFreeDisk {
		return nil
	}
	return &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("Only %d MB are free on the disk, which is kept for saving the machines that there are; nothing new is made. %s", free>>20, machine.FreeSpace)}
}

// roomToSave refuses a save that would only fill the disk.
func (e *entry) roomToSave(ctx context.Context) error {
	free := e.s.free()
	if free < 0 {
		return nil
	}
	o := e.lock()
	base := o.rec.Base
	o.unlock()
	need := int64(leastSave)
	if base != "" {
		if c, err := e.s.store.Checkpoint(ctx, base); err == nil && c.Whole > 0 {
			need = c.Whole
		}
	}
	if free >= need {
		return nil
	}
	return saveError(&machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("%d MB are free, and about %d MB are needed", free>>20, need>>20)})
}
