package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/output"
)

// inBox brings the machine into memory if need be and does something with its sandbox, which counts
// as use.
func (e *entry) inBox(ctx context.Context, do func(machine.Sandbox) error) error {
	if e.s.isClosing() {
		return machine.Closing()
	}
	x, err := e.wake(ctx)
	if err != nil {
		return err
	}
	x.use()
	err = do(x.box)
	select {
	case <-x.box.Ended():
		if err != nil {
			return &machine.Error{Kind: machine.ErrConflict, Message: "The machine's Python ended meanwhile. Try again.", Cause: err}
		}
	default:
	}
	o := e.lock()
	defer o.unlock()
	if o.sess == x && o.life.State == machine.Idle {
		x.rest(o)
	}
	return err
}

// wake returns the machine's stay in memory, beginning one if need be.
func (e *entry) wake(ctx context.Context) (*session, error) {
	for {
		o := e.lock()
		x, err := o.sess, o.usable()
		ready := x.alive(o) && (o.life.State == machine.Idle || o.life.State == machine.Running)
		if err == nil && o.life.Paused { // else its code would go on, behind the person's back
			err = machine.Conflict("A person has paused %s in the middle of its code. It has to be resumed first, in ForeverVM's window or with `forevervm machine wake`.", o.rec.Name)
		}
		o.unlock()
		if err != nil {
			return nil, err
		}
		if ready {
			return x, nil
		}
		if e.s.isClosing() {
			return nil, machine.Closing()
		}
		e.wanted.Store(true)
		swapped, err := e.startSwapped(ctx, roomPatience, e.cold)
		if err != nil {
			return nil, err
		}
		if x != nil && !swapped {
			// It may have ended, and be about to be cleared away: alive, there is nothing to wait
			// for.
			select {
			case <-x.usableOrCleared():
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// startSwapped brings the machine into memory if it is swapped, and says whether it was. It waits
// for room, without op, while the machine is wanted; see enterMemory. The room is that of the place
// where the machine is: one that moves meanwhile is not brought in.
func (e *entry) startSwapped(ctx context.Context, patience time.Duration, wanted func() bool) (bool, error) {
	at := e.engine()
	leave, err := e.enterMemory(ctx, patience, func() bool { return e.engine() == at && wanted() })
	if leave == nil {
		if err == nil { // somebody else brings it in or puts it away: wait for them
			if err = e.lockOp(ctx); err == nil {
				e.unlockOp()
			}
		}
		return false, err
	}
	if err := e.lockOp(ctx); err != nil {
		leave()
		return false, err
	}
	return underHeld(ctx, e, func(ctx context.Context) (bool, error) {
		defer leave()
		o := e.lock()
		swapped := o.life.State == machine.Swapped && !o.life.Gone && e.engine() == at
		o.unlock()
		if !swapped {
			return false, nil
		}
		return true, e.start(ctx)
	})
}

// rouse brings the machine into memory for the work that waits, and ends that work with an error
// when it cannot.
func (e *entry) rouse() {
	_, err := e.startSwapped(e.s.ctx, -1, e.hasWork) // once: what is swapped again right after stays so
	o := e.lock()
	defer o.unlock()
	o.rousing = false
	if err == nil {
		o.on(life.Asked{})
		return
	}
	if !e.s.isClosing() && !o.life.Gone && o.life.State != machine.Deleted {
		o.giveUp(err)
	}
}

// warm brings a new machine into memory ahead of its first instruction, where there is room.
func (e *entry) warm() {
	_, err := e.startSwapped(e.s.ctx, 0, e.cold)
	o := e.lock()
	defer o.unlock()
	o.rousing = false
	if err != nil && !errors.Is(err, machine.ErrUnavailable) {
		e.log().Warn("a new machine is not in memory yet", "err", err)
	}
	o.on(life.Asked{})
}

// giveUp ends what waits for a machine that cannot be brought into memory, so that nobody waits for
// ever. An instruction that was saved in its middle is not lost as long as its checkpoint can be
// used: it stays, and is tried again.
func (o owned) giveUp(cause error) {
	sentence := personal(cause)
	if o.rec.Live { // what became of it is not known yet, so nothing of it is ended
		if o.rec.Notice != sentence {
			if err := o.save(o.s.ctx, func(r *machine.MachineRecord) { r.Notice = sentence }); err != nil {
				o.log().Warn("a notice is missing", "err", err)
			}
			o.publish()
		}
		o.tryLater()
		return
	}
	ended, err := o.endQueue(o.s.ctx, machine.StatusError, errNameStopped, "MachineStopped: "+sentence)
	lost := o.run != nil && errors.Is(cause, machine.ErrCheckpointUnusable)
	if err == nil && lost {
		run := *o.run
		run.End(machine.StatusError, errNameStopped, "MachineStopped: "+sentence)
		ended = append(ended, run)
	}
	if err == nil {
		err = o.saveSync(o.s.ctx, func(r *machine.MachineRecord) { r.Notice = sentence }, func(w machine.Writer) error { return putEnded(w, ended) })
	}
	if err != nil {
		o.log().Error("waiting instructions could not be ended", "err", err)
		o.s.health.failed(err)
		o.tryLater()
		return
	}
	if lost {
		o.run = nil
	}
	o.on(life.GaveUp{Lost: lost})
	o.announce(ended)
	o.publish()
	if o.life.Later {
		o.tryLater()
	}
}

// wakeAgain is how long a machine that could not be woken is left alone.
const wakeAgain = 15 * time.Second

// tryLater wakes the machine for its work after a while.
func (o owned) tryLater() {
	o.on(life.LeftAlone{})
	o.later.stop()
	o.later = o.s.after(wakeAgain, func() {
		o := o.lock()
		defer o.unlock()
		if o.life.Wants() && o.short && o.s.memoryOf(o.rec.Engine).short() {
			o.tryLater()
		} else {
			o.on(life.Retried{})
		}
	})
}

// personal is an error as a sentence for people.
func personal(err error) string {
	var own *machine.Error
	if errors.As(err, &own) {
		return own.Message
	}
	return "This machine could not be brought into memory: " + err.Error()
}

// startNow is start where there soon is room; else it fails. Who holds op keeps the machine from
// being deleted meanwhile.
func (e *entry) startNow(ctx context.Context) error {
	leave, err := e.enterMemory(ctx, roomBriefly, e.cold)
	if err != nil {
		return err
	}
	if leave != nil {
		defer leave()
	}
	return e.start(ctx)
}

// start brings the machine into memory. op is held, and the machine is swapped.
func (e *entry) start(ctx context.Context) (err error) {
	if err := e.takeUp(ctx); err != nil {
		return err
	}
	engine, err := e.s.engineOf(e.engine())
	if err != nil {
		return err
	}
	spec, base, err := e.spec(ctx)
	if err != nil {
		return err
	}
	o := e.lock()
	if e.s.isClosing() { // asked with the lock held, as Close saves whom it finds waking after this
		o.unlock()
		return machine.Closing()
	}
	err = o.save(ctx, func(r *machine.MachineRecord) { r.Live, r.Life, r.Paused = true, spec.Life, false })
	if err == nil {
		o.on(life.Waking{})
	}
	o.unlock()
	if err != nil {
		e.s.health.failed(err)
		return err
	}
	e.watchShared(ctx, false) // before code can change it
	box, err := e.startBox(ctx, engine, spec)
	o = e.lock()
	defer o.unlock()
	if err != nil {
		o.on(life.NotAwake{})
		if ctx.Err() != nil { // the service ends
			return ctx.Err()
		}
		if errors.Is(err, machine.ErrApart) { // it may go on there: Reclaim tells
			return err
		}
		notice := "This machine could not be brought into memory: " + err.Error()
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			notice = "This machine's saved state cannot be used: " + err.Error() +
				" Return it to an earlier checkpoint, or run its steps again in a new machine; its history is all there."
		}
		if saveErr := o.save(e.s.ctx, func(r *machine.MachineRecord) { r.Live, r.Paused, r.Notice = false, o.life.Paused, notice }); saveErr != nil {
			e.log().Error("a failed start could not be recorded", "err", saveErr)
		}
		o.publish()
		kind := machine.ErrUnavailable
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			kind = machine.ErrCheckpointUnusable
		}
		return &machine.Error{Kind: kind, Message: notice, Cause: err}
	}
	o.settle(ctx, box, base, spec.MemoryMB)
	return nil
}

// startTimeout bounds how long a machine may take to come into memory, as it keeps others from
// doing so. The first of all makes the template, and an earlier run of the program may have to save
// it first.
const startTimeout = 5 * time.Minute

func (e *entry) startBox(ctx context.Context, engine machine.Engine, spec machine.StartSpec) (machine.Sandbox, error) {
	starts := e.s.startsAt(e.engine())
	if err := starts.Enter(ctx, e.wanted.Load); err != nil {
		return nil, err
	}
	defer starts.Leave()
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := engine.Start(limited, spec)
	if err != nil && rests(engine) {
		e.s.spawn(e.s.CheckEngines) // it may not work at all; else nobody would ask it
	}
	var own *machine.Error
	if err != nil && ctx.Err() == nil && limited.Err() != nil && !errors.As(err, &own) {
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("it was not ready after %.0f minutes. The computer may be very busy. Try again later.", startTimeout.Minutes()), Cause: err}
	}
	return box, err
}

// spec says what to start, from what, and what is known of it already.
func (e *entry) spec(ctx context.Context) (machine.StartSpec, machine.CheckpointRecord, error) {
	o := e.lock()
	defer o.unlock()
	spec := machine.StartSpec{
		ID: e.id, Life: string(machine.NewID()), Name: o.rec.Name, Image: o.rec.Image, MemoryMB: o.rec.MemoryMB, Checkpoint: o.rec.Base,
	}
	base, err := e.checkpointOrTemplate(ctx, o.rec.Base)
	if err != nil {
		return spec, base, fmt.Errorf("read checkpoint %s: %w", o.rec.Base, err)
	}
	spec.Shared = o.rec.Shared
	spec.Clone = o.rec.Base == "" || base.Clone
	if network := e.s.network; network != nil {
		spec.Env, spec.Authorities = network.Belongings(e.id, e.owner)
		spec.Connect = e.carry
	}
	if o.run != nil && o.run.LastFrame >= 0 { // of others the runner may still tell an end that nobody has heard
		spec.Acked = []machine.Ack{{Seq: o.run.Seq, Index: o.run.LastFrame}}
	}
	return spec, base, nil
}

// settle takes over a sandbox that is ready and works out what it is doing.
func (o owned) settle(ctx context.Context, box machine.Sandbox, base machine.CheckpointRecord, memoryMB int) {
	x := &session{e: o.entry, box: box, memoryMB: memoryMB, need: willTake(base), since: time.Now(), savedAt: time.Now(), handed: -1, stored: make(chan struct{}), cleared: make(chan struct{}),
		restored: base.LastSeq, heard: -1, weighed: -1, late: lateBudget{seq: base.LastSeq}}
	o.sess = x
	o.short = false
	o.wanted.Store(false)
	ready := box.Ready()
	if o.rec.Notice != "" && o.rec.NextNotice == "" { // it told why the machine could not be woken
		if err := o.save(ctx, func(r *machine.MachineRecord) { r.Notice = "" }); err != nil {
			o.log().Warn("a notice stays", "err", err)
		}
	}
	o.tellUnshared(ctx, ready.Unshared)
	if o.run != nil {
		o.resumeRun(ctx)
	}
	o.on(life.Awake{Said: ready, Next: o.rec.NextSeq})
	x.fitLimit(o) // it may have been changed while the machine was waking
	o.s.spawn(x.pump)
	o.s.poke()
}

// resumeRun records that the running instruction goes on.
func (o owned) resumeRun(ctx context.Context) {
	run := *o.run
	now := time.Now().UTC()
	run.ResumedAt = &now
	if err := o.s.store.Write(ctx, func(w machine.Writer) error { return w.PutInstruction(run) }); err != nil {
		o.log().Warn("the time of waking is not recorded", "err", err)
	}
	o.run = &run
	o.out = output.Layout{Limits: o.s.set.Load().Output}
	if err := o.loadOutput(ctx, &run); err != nil {
		o.log().Error("the output so far could not be read", "seq", run.Seq, "err", err)
	}
}

// loadOutput rebuilds what is known of the running instruction's output.
func (o owned) loadOutput(ctx context.Context, run *machine.InstructionRecord) error {
	for from := 0; from < run.Items; {
		page, err := o.s.store.Items(ctx, run.Machine, run.Seq, from, 1000)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		o.out.Load(page.Items, run.HeadEnd)
		from = page.Items[len(page.Items)-1].Index + 1
	}
	return nil
}
