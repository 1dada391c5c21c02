package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// saveTimeout bounds how long a save may take.
const saveTimeout = 10 * time.Minute

const (
	// calm is how long no machine must have come into memory before one is saved that nobody asked
	// to save; calmPatience for how long at most that is waited for, and turnPatience for how long
	// once more when its turn has come, so that saves and starts alternate where these never end.
	calm         = 250 * time.Millisecond
	calmPatience = 5 * time.Second
	turnPatience = time.Second
)

// yield lets those go first who wait for a machine, and waits for its turn among the saves that
// nobody asked for; leave ends that.
func (s *Service) yield(ctx context.Context) (leave func(), err error) {
	if err := s.calmDown(ctx, calmPatience); err != nil {
		return nil, err
	}
	if err := s.saves.Enter(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	if err := s.calmDown(ctx, turnPatience); err != nil {
		s.saves.Leave()
		return nil, err
	}
	return s.saves.Leave, nil
}

// yield is Service.yield. What is saved elsewhere holds up nobody here.
func (e *entry) yield(ctx context.Context) (leave func(), err error) {
	if !e.s.isAway(e.engine()) {
		return e.s.yield(ctx)
	}
	if err := e.s.farSaves.Enter(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	return e.s.farSaves.Leave, nil
}

// calmDown waits until no machine has come into memory for a moment, patience at most.
func (s *Service) calmDown(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		rest := min(calm-s.starts.Quiet(), time.Until(deadline))
		if rest <= 0 {
			return nil
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unasked saves a machine that nobody asked to save: it lets others go first, holds op, and notes a
// failure.
func (e *entry) unasked(x *session, save func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(e.s.ctx, saveTimeout)
	defer cancel()
	leave, err := e.yield(ctx)
	if err == nil {
		defer leave()
		// With its end there is nothing to save, and others may save theirs.
		select {
		case e.op <- struct{}{}:
			defer e.unlockOp()
			err = save(ctx)
		case <-x.box.Ended():
			return
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		e.saveFailed(x, err)
	}
}

// autoSave checkpoints a machine that has been idle for a while.
func (e *entry) autoSave(x *session) {
	e.unasked(x, func(ctx context.Context) error {
		o := e.lock()
		due := o.sess == x && x.alive(o) && o.life.State == machine.Idle && x.version != x.clean
		if due && time.Now().Before(x.soonest(o)) { // it was saved while this waited
			x.rest(o)
			due = false
		}
		o.unlock()
		if !due {
			return nil
		}
		_, err := e.checkpoint(ctx, x, machine.CheckpointAuto, "", false)
		return err
	})
}

// dueSave holds a machine that is due to be saved while there is work for it, and returns what
// saves it; nil where it is not due, or something else happens to it. It waits for nobody: the work
// is held up for as long as the machine stands still, and no longer. Who calls it tells life of
// Held.
func (o owned) dueSave(x *session) func() {
	at := x.due(o)
	if at.IsZero() || time.Now().Before(at) || !x.alive(o) || o.life.Holding || o.life.Stale != life.None || o.life.State != machine.Idle && o.life.State != machine.Running || o.diskLow() {
		return nil
	}
	select {
	case o.op <- struct{}{}:
	default:
		return nil
	}
	if !o.s.enter() {
		o.unlockOp()
		return nil
	}
	begun := x.hold(o)
	begun.due = true
	return func() {
		defer o.s.group.Done()
		defer o.unlockOp()
		ctx, cancel := context.WithTimeout(o.s.ctx, saveTimeout)
		defer cancel()
		if _, err := o.checkpointHeld(ctx, x, begun, machine.CheckpointAuto, "", false); err != nil {
			o.saveFailed(x, err)
		}
	}
}

// saveIfChanged checkpoints the machine when there is something new to save.
func (e *entry) saveIfChanged(ctx context.Context) error {
	_, err := under(ctx, e, func(ctx context.Context) (machine.CheckpointRecord, error) {
		o := e.lock()
		x := o.sess
		due := x.alive(o) && (x.version != x.clean || o.run != nil)
		o.unlock()
		if !due {
			return machine.CheckpointRecord{}, nil
		}
		return e.checkpoint(ctx, x, machine.CheckpointAuto, "", false)
	})
	return err
}

// saveFailed tells why a machine is not saved, and tries again later.
func (e *entry) saveFailed(x *session, err error) {
	e.s.health.failed(err)
	if e.s.ctx.Err() != nil {
		return
	}
	e.log().Warn("the machine could not be saved", "err", err)
	o := e.lock()
	defer o.unlock()
	if o.sess != x || !x.alive(o) {
		return
	}
	if o.life.State == machine.Idle {
		x.autosave.stop()
		x.autosave = e.s.after(saveAgain, func() { e.autoSave(x) })
		x.autoswap.stop()
		x.autoswap = e.s.after(max(saveAgain, e.s.set.Load().IdleSwap), func() { e.autoSwap(x) })
	}
}

// saveAgain is how long after a failed save the next is tried.
const saveAgain = 30 * time.Second

// pausedRun is the running instruction with its clock stopped; nil when nothing runs.
func (o owned) pausedRun() *machine.InstructionRecord {
	if o.run == nil {
		return nil
	}
	run := *o.run
	now := time.Now()
	if o.sess != nil && o.sess.saving {
		now = o.sess.frozen
	}
	run.Pause(now)
	return &run
}

// mark is how much of the running instruction's output is stored and acknowledged.
func (o owned) mark() *machine.Mark {
	if o.run == nil {
		return nil
	}
	r := o.run
	return &machine.Mark{Seq: r.Seq, Progress: r.Progress, Items: r.Items, OutputBytes: r.OutputBytes, OutputDropped: r.OutputDropped}
}

// checkpoint saves a machine that stays in memory. While it stands still no output is acknowledged
// and no instruction begins, so that the checkpoint holds everything after the mark and a fork of
// it loses and doubles nothing; then it goes on, and the checkpoint is kept and recorded beside
// that, at once where somebody awaits it. op is held, and ctx is the service's: what is made when
// nobody waits for it any more would be neither recorded nor deleted.
func (e *entry) checkpoint(ctx context.Context, x *session, kind machine.CheckpointKind, label string, awaited bool) (machine.CheckpointRecord, error) {
	if err := e.roomToSave(ctx); err != nil {
		e.s.health.failed(err)
		return machine.CheckpointRecord{}, err
	}
	o := e.lock()
	begun := x.hold(o)
	o.on(life.Held{})
	o.unlock()
	return e.checkpointHeld(ctx, x, begun, kind, label, awaited)
}

// held is what is known of a machine when it is held to be saved.
type held struct {
	version int
	mark    *machine.Mark
	at      time.Time
	unsaved life.Unsaved // the session's, before
	due     bool         // the save did not wait for the machine to be idle
}

// hold begins a checkpoint: what the machine says from now on is not acknowledged, and nothing
// begins on it.
func (x *session) hold(o owned) held {
	x.held = map[int]int{}
	x.freeze(o)
	begun := held{version: x.version, mark: o.mark(), at: x.frozen, unsaved: x.unsaved}
	x.unsaved.Save(x.frozen)
	return begun
}

// release is the end of hold.
func (x *session) release(o owned) {
	for seq, index := range x.held {
		x.box.Ack(seq, index)
	}
	x.held = nil
	x.thaw(o)
	if o.sess == x {
		o.on(life.Released{})
	}
}

// ended is the end of a save, which decides when the next comes.
func (x *session) ended(o owned, begun held, well bool) {
	if !well {
		x.notBefore = time.Now().Add(saveAgain)
		x.unsaved.Failed(begun.unsaved)
	}
	if o.sess == x {
		x.plan(o)
	}
}

// space decides whether a checkpoint that was made while work went on stays in the list. Where it
// is one of many, the next replaces it.
func (o owned) space(begun held, c machine.CheckpointRecord) {
	switch {
	case c.RunningSeq != nil: // of those in the middle of an instruction only the latest stays
	case !begun.due:
		o.brief = ""
	case c.CreatedAt.Sub(o.spacedAt) < burstApart:
		o.brief = c.ID
	default:
		o.brief, o.spacedAt = "", c.CreatedAt
	}
}

// checkpointHeld is checkpoint of a machine that is held for it.
func (e *entry) checkpointHeld(ctx context.Context, x *session, begun held, kind machine.CheckpointKind, label string, awaited bool) (machine.CheckpointRecord, error) {
	saveCtx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	goOn := sync.OnceFunc(func() {
		o := e.lock()
		defer o.unlock()
		x.notBefore = begun.at.Add(stillShare * time.Since(begun.at))
		x.release(o)
	})
	info, err := x.box.Checkpoint(saveCtx, goOn)
	goOn()
	if err != nil {
		o := e.lock()
		defer o.unlock()
		x.ended(o, begun, false)
		return machine.CheckpointRecord{}, saveError(err)
	}
	err = e.s.saved(e.engine()).Persist(saveCtx, e.id, info.ID, awaited)
	o := e.lock()
	defer o.unlock()
	var rec machine.CheckpointRecord
	if err == nil {
		touched := o.rec.Touched && x.version != begun.version // it may have been after the save
		rec, err = o.record(ctx, info, kind, label, begun.mark, func(m *machine.MachineRecord) { m.Touched = touched })
	}
	if err != nil {
		// Nobody knows of it, so nobody else would delete it.
		e.s.health.failed(err)
		e.s.spawn(func() { e.drop(info.ID) })
		x.ended(o, begun, false)
		return rec, err
	}
	x.clean = begun.version
	x.need = min(x.need, willTake(rec)) // what it has freed is not counted as yet to be taken
	x.ended(o, begun, true)
	o.space(begun, rec)
	o.mayComeBackAgain(rec)
	x.shed.stop()
	x.shed = e.s.after(shedAfter, func() {
		o := e.lock()
		defer o.unlock()
		o.shrinkLater()
	})
	return rec, nil
}

// shedAfter is how long after its making a checkpoint of a machine that is in memory is kept ready
// for the next to be made from it. Most are replaced before, so that their files never get to the
// disk; only what is new in them does.
const shedAfter = 15 * time.Second

// drop deletes a checkpoint that could not be recorded.
func (e *entry) drop(checkpoint string) {
	if err := e.s.saved(e.engine()).Delete(e.s.ctx, e.id, checkpoint); err != nil {
		e.log().Warn("a checkpoint that is not recorded stays behind", "checkpoint", checkpoint, "err", err)
	}
}

func saveError(err error) error {
	if errors.Is(err, machine.ErrDiskFull) {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "The machine could not be saved, because the disk is full. It goes on running, and nothing is lost while it does. " + machine.FreeSpace, Cause: err}
	}
	return err
}
