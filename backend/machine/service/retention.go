package service

import (
	"context"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/points"
)

const (
	// thinEvery is how often automatic checkpoints are thinned out.
	thinEvery = 10 * time.Minute
	// mostShrunk is what shrunk checkpoints may take by default, in bytes, where a tenth of the
	// room is more.
	mostShrunk = 10 << 30
)

// returns says whether the machine comes back from a checkpoint, or is just being returned to it.
func (o owned) returns(id string) bool {
	return points.Points{Machine: o.rec, Pinned: o.rewindTo}.Returns(id)
}

// thin forgets automatic checkpoints that are too many for their age, and the oldest of all where
// they take too much room. For room it does so only where that helps: where what was forgotten for
// it before has been given back, or all would go for nothing in the end.
func (s *Service) thin() {
	set := s.set.Load()
	keep := points.Keep{All: set.KeepAll, Hourly: set.KeepHourly, Daily: set.KeepDaily}
	now := time.Now()
	var candidates []machine.CheckpointRecord
	owner := map[string]*entry{}
	gone := 0
	for _, e := range s.entries() {
		if s.ctx.Err() != nil {
			return
		}
		all, err := s.store.Checkpoints(s.ctx, e.id)
		if err != nil {
			s.log.Warn("checkpoints are not thinned out", "machine", e.id, "err", err)
			continue
		}
		old := keep.TooMany(all, now)
		gone += e.forgetCheckpoints(s.ctx, old)
		for _, c := range all {
			if c.Passing() && c.Shrunk && s.onThisDisk(e.engine()) && !slices.ContainsFunc(old, func(o machine.CheckpointRecord) bool { return o.ID == c.ID }) {
				candidates = append(candidates, c)
				owner[c.ID] = e
			}
		}
	}
	switch excess := s.overBudget(); {
	case excess <= 0:
	case !s.collects.Load(): // what is forgotten now would free nothing
		s.uncollected.Store(true)
	case !s.unrelieved.Load():
		slices.SortFunc(candidates, func(a, b machine.CheckpointRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, c := range candidates {
			if excess <= 0 || s.ctx.Err() != nil {
				break
			}
			if n := owner[c.ID].forgetCheckpoints(s.ctx, []machine.CheckpointRecord{c}); n > 0 {
				s.unrelieved.Store(true)
				gone += n
				excess -= max(c.Size, 1)
			}
		}
	}
	if gone > 0 {
		s.spawn(s.takeOutGarbage)
	} else {
		s.spawn(s.collect)
	}
}

// overBudget is how many bytes the shrunk checkpoints take too much.
func (s *Service) overBudget() int64 {
	used := s.usedByShrunk()
	if used == 0 {
		return 0
	}
	budget := s.set.Load().CheckpointBudget
	if budget == 0 {
		budget = mostShrunk
		if free := s.free(); free >= 0 {
			budget = min(budget, (free+used)/10)
		}
	}
	return used - budget
}

// forgetCheckpoints forgets checkpoints, unless the machine has come to need them, and returns how
// many.
func (e *entry) forgetCheckpoints(ctx context.Context, old []machine.CheckpointRecord) int {
	o := e.lock()
	defer o.unlock()
	if o.life.Gone {
		return 0
	}
	kept := points.Points{Machine: o.rec, Pinned: o.rewindTo}
	var going []machine.CheckpointRecord
	for _, c := range old {
		now, err := e.s.store.Checkpoint(ctx, c.ID) // it may have been kept by hand meanwhile
		if err == nil && now.Passing() && !kept.Needs(c.ID) {
			going = append(going, now)
		}
	}
	if len(going) == 0 {
		return 0
	}
	if err := e.s.writeSyncDeleting(ctx, func(w machine.Writer) error { return o.discardCheckpoints(w, going) }); err != nil {
		e.log().Warn("checkpoints are not thinned out", "err", err)
		return 0
	}
	e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	return len(going)
}
