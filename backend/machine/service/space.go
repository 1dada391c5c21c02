package service

import (
	"context"
	"errors"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/points"
)

// CheckpointUse tells what the shrunk checkpoints of each machine take, those in the bin, too.
func (s *Service) CheckpointUse(ctx context.Context) ([]machine.CheckpointUse, error) {
	var all []machine.CheckpointUse
	for _, e := range s.entries() {
		use, old, err := e.checkpointUse(ctx)
		if err != nil {
			return nil, err
		}
		use.Passing = len(old)
		for _, c := range old {
			if c.Shrunk {
				use.PassingBytes += c.Size
			}
		}
		all = append(all, use)
	}
	return all, nil
}

// checkpointUse also returns the checkpoints that FreeUp would forget.
func (e *entry) checkpointUse(ctx context.Context) (use machine.CheckpointUse, old []machine.CheckpointRecord, err error) {
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return use, nil, err
	}
	o := e.lock()
	kept := points.Points{Machine: o.rec, Pinned: o.rewindTo}
	use.Machine = o.snapshot()
	o.unlock()
	for _, c := range all {
		if c.Shrunk {
			use.Bytes += c.Size
		}
		if c.Passing() && !kept.Needs(c.ID) {
			old = append(old, c)
		}
	}
	return use, old, nil
}

// FreeUp deletes the machines in the bin, or the automatic checkpoints that no machine returns to,
// for good. It returns when the disk has the room again.
func (s *Service) FreeUp(ctx context.Context, bin, checkpoints bool) error {
	var failures []error
	for _, e := range s.entries() {
		inBin := e.Machine().State == machine.Deleted
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case bin && inBin:
			failures = append(failures, e.purge(ctx, true))
		case checkpoints && !inBin:
			_, old, err := e.checkpointUse(ctx)
			failures = append(failures, err)
			e.forgetCheckpoints(ctx, old)
		}
	}
	s.takeOutGarbage()
	s.collectNow()
	return errors.Join(failures...)
}
