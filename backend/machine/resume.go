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
	if err == nil {
		info, err = engine.Reclaim(e.s.ctx, e.id, e.rec.Base)
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
	base := -1
	if e.rec.Base != "" {
		c, err := e.s.store.Checkpoint(ctx, e.rec.Base)
		if err != nil {
			return err
		}
		base = c.LastSeq
		if c.RunningSeq != nil {
			base = *c.RunningSeq - 1 // its beginning is there, its end is not
		}
		if e.run != nil && c.RunningSeq != nil && *c.RunningSeq == e.run.Seq && e.run.ResumedAt == nil {
			base = e.rec.NextSeq // it was saved and had not gone on yet
		}
	}
	gone, err := e.effectsAfter(ctx, base)
	if err != nil {
		return err
	}
	if len(gone) == 0 && e.run == nil && !e.rec.Touched {
		return e.saveSync(ctx, func(m *MachineRecord) { m.Live = false })
	}
	if base == e.rec.NextSeq {
		return e.saveSync(ctx, func(m *MachineRecord) { m.Live = false })
	}
	return e.fallBack(ctx, end{errNameStopped, "the computer or the sandbox stopped without saving it (" + time.Now().Format("2 January 15:04") + ")"})
}
