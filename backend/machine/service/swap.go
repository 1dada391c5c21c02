package service

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// Swap saves a machine and frees its memory. An instruction that runs is paused: it goes on when
// the machine is woken.
func (e *entry) Swap(ctx context.Context) error {
	_, err := under(ctx, e, func(ctx context.Context) (struct{}, error) { return struct{}{}, e.swap(ctx) })
	return err
}

// swap is Swap with op held.
func (e *entry) swap(ctx context.Context) error {
	o := e.lock()
	err := o.usable()
	if err == nil {
		o.on(life.PutToSleep{})
		if o.rec.Paused != o.life.Paused && !o.life.State.InMemory() { // else recorded with its state
			err = o.save(ctx, func(r *machine.MachineRecord) { r.Paused = o.life.Paused })
			o.publish()
		}
	}
	o.unlock()
	if err != nil {
		return err
	}
	if err := e.stop(ctx, nil); err != nil {
		e.s.health.failed(err)
		return saveError(err)
	}
	return nil
}

// autoSwap frees the memory of a machine that has been idle for long.
func (e *entry) autoSwap(x *session) {
	e.unasked(x, func(ctx context.Context) error {
		return e.stop(ctx, func(o owned) bool { return o.sess == x && o.life.AtRest() })
	})
}

// stopNow is stop for those who do not hold op, also in the middle of an instruction.
func (e *entry) stopNow(ctx context.Context) error {
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	return e.stop(ctx, nil)
}

// stop saves the machine and frees its memory. When it cannot be saved it stays in memory, if it
// lives. due, which may be nil, says whether it is still wanted. op is held.
func (e *entry) stop(ctx context.Context, due func(owned) bool) error {
	o := e.lock()
	x := o.sess
	if !x.alive(o) || due != nil && !due(o) {
		o.unlock()
		return nil
	}
	o.on(life.Leaving{})
	x.freeze(o)
	// One that was never used is its template.
	unused := o.rec.Base == "" && x.version == 0 && o.rec.NextSeq == 0
	o.unlock()
	if unused {
		return e.discard(ctx, x)
	}
	saveCtx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	err := e.roomToSave(ctx)
	var info machine.CheckpointInfo
	if err == nil {
		info, err = x.box.Stop(saveCtx)
	}
	if err != nil {
		o = e.lock()
		defer o.unlock()
		select {
		case <-x.box.Ended(): // reap takes it from here
		default:
			x.thaw(o)
			o.on(life.Stays{})
		}
		return err
	}
	o = e.lock()
	x.saved = &info
	o.unlock()
	select {
	case <-x.stored:
	case <-ctx.Done():
		return ctx.Err() // reap takes it from here
	}
	return e.s.patient("a saved machine", func(ctx context.Context) error { return o.putAway(ctx, x) })
}

// discard ends a machine in memory that has nothing to save. op is held.
func (e *entry) discard(ctx context.Context, x *session) error {
	x.box.Kill()
	select {
	case <-x.stored:
	case <-ctx.Done():
		return ctx.Err()
	}
	o := e.lock()
	defer o.unlock()
	if o.sess != x {
		return nil
	}
	o.clear()
	err := e.s.deleting(func() error { return o.save(o.s.ctx, func(r *machine.MachineRecord) { r.Live = false }) })
	o.on(life.Asleep{})
	return err
}

// putAway records the checkpoint of a session that was saved and ended.
func (e *entry) putAway(ctx context.Context, x *session) error {
	o := e.lock()
	defer o.unlock()
	if o.sess != x {
		return nil
	}
	info := *x.saved
	run := o.pausedRun()
	cause := x.box.Cause()
	_, err := o.record(ctx, info, machine.CheckpointAuto, "", o.mark(), func(r *machine.MachineRecord) {
		r.Live, r.Paused = false, o.life.Paused
		o.tellOfMemory(r, cause)
	}, func(w machine.Writer) error {
		if run == nil {
			return nil
		}
		return w.PutInstruction(*run)
	})
	if err != nil {
		return err
	}
	o.run = run
	o.clear()
	short := cause.Kind == machine.EndedMemory
	o.on(life.Asleep{Later: short})
	if short {
		o.comeBackFor(cause)
	}
	return nil
}

// rested is how long a machine has been idle that goes before the computer's memory is nearly used
// up: on a computer that is always below the floor, a person's next step finds it in memory.
const rested = time.Minute

// moveOut moves a machine to the disk, if it is idle, and says whether that did not fail.
func (s *Service) moveOut(e *entry) bool {
	if !e.tryOp() { // something else is done with it, which may take long
		return false
	}
	defer e.unlockOp()
	err := e.stop(s.ctx, func(o owned) bool { return o.life.AtRest() })
	if err != nil {
		s.health.failed(err)
		s.log.Warn("a machine could not be moved to the disk", "machine", e.id, "err", err)
	}
	return err == nil
}
