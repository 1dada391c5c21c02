package machine

import (
	"context"
	"time"
)

// resume takes up, in the background, every machine that was in memory when the last daemon ended, or has work waiting.
func (s *Service) resume() {
	for _, e := range s.entries() {
		e.mu.Lock()
		switch {
		case e.state == Deleted:
		case e.rec.Live:
			// Whoever wants the machine waits until it is known what became of it.
			e.op <- struct{}{}
			s.spawn(e.reclaim)
		default:
			e.kick()
		}
		e.mu.Unlock()
	}
}

// reclaim finds out what the supervisor of a machine left behind whose daemon had died. op is held, and released.
func (e *entry) reclaim() {
	defer func() {
		e.unlockOp()
		e.mu.Lock()
		e.kick()
		e.mu.Unlock()
	}()
	engine, err := e.s.engineOf(e.engine)
	var info *CheckpointInfo
	var known string
	if err == nil {
		known, err = e.newestKnown(e.s.ctx)
	}
	if err == nil {
		info, err = engine.Reclaim(e.s.ctx, e.id, known)
	}
	if e.s.ctx.Err() != nil {
		return
	}
	if err != nil {
		e.log().Error("what the last supervisor left cannot be read", "err", err)
	}
	_ = e.s.patient("a reclaimed machine", func(ctx context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if info != nil {
			return e.reclaimed(ctx, *info)
		}
		return e.unclaimed(ctx)
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish()
}

// newestKnown is the newest checkpoint that is on record, be it for being deleted; Base may be an older one, after a rewind.
func (e *entry) newestKnown(ctx context.Context) (string, error) {
	newest := ""
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		newest = max(newest, c.ID)
	}
	garbage, err := e.s.store.Garbage(ctx)
	if err != nil {
		return "", err
	}
	for _, g := range garbage {
		if g.Machine == e.id {
			newest = max(newest, g.Checkpoint)
		}
	}
	return newest, nil
}

// reclaimed takes over the checkpoint that a supervisor made by itself: nothing is lost. mu is held.
func (e *entry) reclaimed(ctx context.Context, info CheckpointInfo) error {
	run := e.run
	if run != nil {
		paused := *run
		paused.pause(info.CreatedAt)
		run = &paused
	}
	_, err := e.record(ctx, info, CheckpointAuto, "", e.mark(), func(m *MachineRecord) { m.Live = false }, func(w Writer) error {
		if run == nil {
			return nil
		}
		return w.PutInstruction(*run)
	})
	if err == nil {
		e.run = run
	}
	return err
}

// unclaimed falls back to what is known, when the supervisor died as well. mu is held.
func (e *entry) unclaimed(ctx context.Context) error {
	lost, err := e.lostSomething(ctx)
	if err != nil {
		return err
	}
	if !lost {
		return e.saveSync(ctx, func(m *MachineRecord) { m.Live = false })
	}
	return e.fallBack(ctx, end{errNameStopped, "the computer or the sandbox stopped without saving it (" + time.Now().Format("2 January 15:04") + ")"})
}

// lostSomething says whether anything happened to the machine after Base. mu is held.
func (e *entry) lostSomething(ctx context.Context) (bool, error) {
	if e.run != nil {
		return e.run.ResumedAt != nil, nil // saved in its middle, it had not gone on yet
	}
	if e.rec.Touched {
		return true, nil
	}
	last := -1
	if e.rec.Base != "" {
		c, err := e.s.store.Checkpoint(ctx, e.rec.Base)
		if err != nil {
			return false, err
		}
		last = c.LastSeq
		if c.RunningSeq != nil {
			last = *c.RunningSeq - 1 // its beginning is there, its end is not
		}
	}
	gone, err := e.effectsAfter(ctx, last)
	return len(gone) > 0, err
}
