package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// leastSave is what a save is expected to take where no earlier one tells, in bytes.
	leastSave = 64 << 20
	// maxKept is how many checkpoints of a machine may be kept by hand.
	maxKept = 50
)

// deleting does something that frees space, on a full disk with the help of the reserve. The keeper
// makes it again.
func (s *Service) deleting(do func() error) error {
	err := do()
	if errors.Is(err, machine.ErrDiskFull) && s.reserve.Release() {
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

// roomForMore refuses what is new while the disk is nearly full, so that what exists can go on and
// be saved.
func (s *Service) roomForMore() error {
	free := s.free()
	if free < 0 || free >= s.set.Load().MinFreeDisk {
		return nil
	}
	return &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("Only %d MB are free on the disk, which is kept for saving the machines that there are; nothing new is made. %s", free>>20, machine.FreeSpace)}
}

// diskLow says whether the disk is nearly full that the machine is saved on, as far as is known.
func (e *entry) diskLow() bool { return e.s.onThisDisk(e.engine()) && e.s.health.diskLow() }

// roomToSave refuses a save that would only fill the disk. Other computers do so themselves.
func (e *entry) roomToSave(ctx context.Context) error {
	if !e.s.onThisDisk(e.engine()) {
		return nil
	}
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
