package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// shrinkLater keeps the machine's checkpoints in the form that takes least room, but for those that
// it wakes from next while it is not in memory, when nobody waits for a machine.
func (o owned) shrinkLater() {
	if o.shrinking {
		return
	}
	o.shrinking = true
	o.s.spawn(o.shrinkAll)
}

// shrinkAll shrinks one after another, oldest first: each has most in common with the one before.
// What fails is tried again when the machine has been saved next.
func (e *entry) shrinkAll() {
	failed := map[string]bool{}
	for {
		leave, err := e.yield(e.s.ctx)
		if err != nil {
			return
		}
		id, err := e.shrinkNext(e.s.ctx, failed)
		if id == "" && err == nil {
			e.seal(e.s.ctx)
		}
		leave()
		switch {
		case e.s.ctx.Err() != nil:
			return
		case id == "" && err == nil:
			return
		case err != nil:
			e.log().Warn("a checkpoint takes more room than it could", "checkpoint", id, "err", err)
			failed[id] = true
			if id == "" || errors.Is(err, machine.ErrDiskFull) {
				o := e.lock()
				o.shrinking = false
				o.unlock()
				return
			}
		}
	}
}

// shrinkNext shrinks the oldest that is still to be, and returns its id; "" when there is none.
func (e *entry) shrinkNext(ctx context.Context, but map[string]bool) (string, error) {
	if _, err := e.s.engineOf(e.engine()); err != nil {
		return "", err
	}
	id, err := e.toShrink(ctx, but)
	if err != nil || id == "" {
		return "", err
	}
	size, err := e.s.saved(e.engine()).Compact(ctx, e.id, id)
	if err != nil {
		return id, err
	}
	o := e.lock()
	defer o.unlock()
	c, err := e.s.store.Checkpoint(ctx, id)
	if machine.IsNotFound(err) {
		return id, nil
	}
	if err != nil {
		return id, err
	}
	c.Shrunk, c.Size = true, size
	if err := e.s.store.Write(ctx, func(w machine.Writer) error { return w.PutCheckpoint(c) }); err != nil {
		return id, err
	}
	e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	return id, nil
}

// toShrink is the oldest checkpoint that is still to be shrunk; "" when there is none, and then
// nobody is shrinking any more.
func (e *entry) toShrink(ctx context.Context, but map[string]bool) (oldest string, err error) {
	o := e.lock()
	defer o.unlock()
	if o.life.Gone {
		o.shrinking = false
		return "", nil
	}
	all, err := e.s.store.Checkpoints(ctx, e.id)
	for _, c := range all { // newest first
		if !c.Shrunk && !but[c.ID] && !o.readies(&c) {
			oldest = c.ID
		}
	}
	if err == nil && oldest == "" {
		o.shrinking = false
	}
	return oldest, err
}

// readies says whether a checkpoint is to be ready to be started from: the machine may come back
// from it next, or a fork begin with it.
func (o owned) readies(c *machine.CheckpointRecord) bool {
	if o.sess.alive(o) && c.ID != o.rewindTo && time.Since(c.CreatedAt) >= shedAfter {
		return false
	}
	return o.returns(c.ID)
}

// seal has the checkpoints sealed that a machine comes back from which is not in memory: it may lie
// there for years.
func (e *entry) seal(ctx context.Context) {
	if _, err := e.s.engineOf(e.engine()); err != nil {
		return
	}
	o := e.lock()
	ready := []string{o.rec.Base, o.rec.Fallback}
	if o.sess != nil || o.life.Gone || o.life.State == machine.Deleted {
		ready = nil
	}
	o.unlock()
	for _, id := range slices.Compact(ready) {
		if id == "" {
			continue
		}
		if err := e.s.saved(e.engine()).Seal(ctx, e.id, id); err != nil && ctx.Err() == nil {
			e.log().Warn("a bit of a checkpoint that flips would not be noticed", "checkpoint", id, "err", err)
		}
	}
}

// collect gives back the room of shrunk checkpoints that are gone, when nobody waits for a machine.
// What cannot be done now is tried again when checkpoints are thinned out.
func (s *Service) collect() {
	if s.uncollected.Swap(false) {
		s.spawn(s.collectAway)
		s.collectNow()
	}
}

func (s *Service) collectNow() {
	leave, err := s.yield(s.ctx)
	if err != nil {
		return
	}
	defer leave()
	s.collecting.Lock()
	defer s.collecting.Unlock()
	before := s.usedByShrunk()
	err = s.checkpoints.Collect(s.ctx)
	if s.ctx.Err() != nil {
		return
	}
	s.collects.Store(err == nil)
	if err != nil {
		s.health.failed(err)
		s.log.Warn("room of checkpoints that are gone stays taken", "err", err)
		s.uncollected.Store(true)
	}
	if s.usedByShrunk() < before {
		s.unrelieved.Store(false)
	}
	if s.health.collected(err == nil || errors.Is(err, machine.ErrDiskFull)) {
		st := s.Status(s.ctx)
		s.hub.Publish(machine.Event{Type: machine.EventStatus, Status: &st})
	}
}

// usedByShrunk is how many bytes the shrunk checkpoints take; 0 where that is not known.
func (s *Service) usedByShrunk() int64 {
	used, err := s.checkpoints.Used()
	if err != nil {
		return 0
	}
	return used
}
