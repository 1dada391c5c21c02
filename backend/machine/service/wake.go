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

// inBox brings the machine into memory if need be and does something with its sandbox, which counts as use.
func (e *entry) inBox(ctx context.Context, do func(machine.Sandbox) error) error {
	if e.s.isClosing() {
		return machine.Closing()
	}
	x, err := e.wake(ctx)
	if err != nil {
		return err
	}
	err = do(x.box)
	select {
	case <-x.box.Ended():
		if err != nil {
			return &machine.Error{Kind: machine.ErrConflict, Message: "The machine's Python ended meanwhile. Try again.", Cause: err}
		}
	default:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sess == x && e.life.State == machine.Idle {
		x.rest()
	}
	return err
}

// wake returns the machine's stay in memory, beginning one if need be.
func (e *entry) wake(ctx context.Context) (*session, error) {
	for {
		e.mu.Lock()
		x, err := e.sess, e.usable()
		ready := x.alive() && (e.life.State == machine.Idle || e.life.State == machine.Running)
		e.mu.Unlock()
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
			// It may have ended, and be about to be cleared away: alive, there is nothing to wait for.
			select {
			case <-x.usableOrCleared():
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// startSwapped brings the machine into memory if it is swapped, and says whether it was. It waits for room, without op, while the machine is wanted; see
// enterMemory.
func (e *entry) startSwapped(ctx context.Context, patience time.Duration, wanted func() bool) (bool, error) {
	leave, err := e.enterMemory(ctx, patience, wanted)
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
		e.mu.Lock()
		swapped := e.life.State == machine.Swapped && !e.life.Gone
		e.mu.Unlock()
		if !swapped {
			return false, nil
		}
		return true, e.start(ctx)
	})
}

// rouse brings the machine into memory for the work that waits, and ends that work with an error when it cannot.
func (e *entry) rouse() {
	_, err := e.startSwapped(e.s.ctx, -1, e.hasWork) // once: what is swapped again right after stays so
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rousing = false
	if err == nil {
		e.on(life.Asked{})
		return
	}
	if !e.s.isClosing() && !e.life.Gone && e.life.State != machine.Deleted {
		e.giveUp(err)
	}
}

// warm brings a new machine into memory ahead of its first instruction, where there is room.
func (e *entry) warm() {
	_, err := e.startSwapped(e.s.ctx, 0, e.cold)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rousing = false
	if err != nil && !errors.Is(err, machine.ErrUnavailable) {
		e.log().Warn("a new machine is not in memory yet", "err", err)
	}
	e.on(life.Asked{})
}

// giveUp ends what waits for a machine that cannot be brought into memory, so that nobody waits for ever. An instruction
// that was saved in its middle is not lost as long as its checkpoint can be used: it stays, and is tried again. mu is held.
func (e *entry) giveUp(cause error) {
	sentence := personal(cause)
	if e.rec.Live { // what became of it is not known yet, so nothing of it is ended
		if e.rec.Notice != sentence {
			if err := e.save(e.s.ctx, func(r *machine.MachineRecord) { r.Notice = sentence }); err != nil {
				e.log().Warn("a notice is missing", "err", err)
			}
			e.publish()
		}
		e.tryLater()
		return
	}
	ended, err := e.endQueue(e.s.ctx, machine.StatusError, errNameStopped, "MachineStopped: "+sentence)
	lost := e.run != nil && errors.Is(cause, machine.ErrCheckpointUnusable)
	if err == nil && lost {
		run := *e.run
		run.End(machine.StatusError, errNameStopped, "MachineStopped: "+sentence)
		ended = append(ended, run)
	}
	if err == nil {
		err = e.saveSync(e.s.ctx, func(r *machine.MachineRecord) { r.Notice = sentence }, func(w machine.Writer) error { return putEnded(w, ended) })
	}
	if err != nil {
		e.log().Error("waiting instructions could not be ended", "err", err)
		e.s.health.failed(err)
		e.tryLater()
		return
	}
	if lost {
		e.run = nil
	}
	e.on(life.GaveUp{Lost: lost})
	e.announce(ended)
	e.publish()
	if e.life.Later {
		e.tryLater()
	}
}

// wakeAgain is how long a machine that could not be woken is left alone.
const wakeAgain = 15 * time.Second

// tryLater wakes the machine for its work after a while. mu is held.
func (e *entry) tryLater() {
	e.on(life.LeftAlone{})
	e.later.stop()
	e.later = e.s.after(wakeAgain, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.life.Wants() && e.short && e.s.shortOfMemory() {
			e.tryLater()
		} else {
			e.on(life.Retried{})
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

// startNow is start where there soon is room; else it fails. Who holds op keeps the machine from being deleted meanwhile.
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

// start brings the machine into memory. op is held, mu is not, and the machine is swapped.
func (e *entry) start(ctx context.Context) (err error) {
	if err := e.takeUp(ctx); err != nil {
		return err
	}
	engine, err := e.s.engineOf(e.engine)
	if err != nil {
		return err
	}
	spec, base, err := e.spec(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	if e.s.isClosing() { // asked with mu held, as Close saves whom it finds waking after this
		e.mu.Unlock()
		return machine.Closing()
	}
	err = e.save(ctx, func(r *machine.MachineRecord) { r.Live, r.Life = true, spec.Life })
	if err == nil {
		e.on(life.Waking{})
	}
	e.mu.Unlock()
	if err != nil {
		e.s.health.failed(err)
		return err
	}
	e.watchShared(ctx, false) // before code can change it
	box, err := e.startBox(ctx, engine, spec)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.on(life.NotAwake{})
		if ctx.Err() != nil { // the service ends
			return ctx.Err()
		}
		notice := "This machine could not be brought into memory: " + err.Error()
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			notice = "This machine's saved state cannot be used: " + err.Error() +
				" Return it to an earlier checkpoint, or run its instructions again in a new machine; its history is all there."
		}
		if saveErr := e.save(e.s.ctx, func(r *machine.MachineRecord) { r.Live, r.Notice = false, notice }); saveErr != nil {
			e.log().Error("a failed start could not be recorded", "err", saveErr)
		}
		e.publish()
		kind := machine.ErrUnavailable
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			kind = machine.ErrCheckpointUnusable
		}
		return &machine.Error{Kind: kind, Message: notice, Cause: err}
	}
	e.settle(ctx, box, base, spec.MemoryMB)
	return nil
}

// startTimeout bounds how long a machine may take to come into memory, as it keeps others from doing so. The first of all makes the
// template, and an earlier run of the program may have to save it first.
const startTimeout = 5 * time.Minute

func (e *entry) startBox(ctx context.Context, engine machine.Engine, spec machine.StartSpec) (machine.Sandbox, error) {
	if err := e.s.starts.Enter(ctx, e.wanted.Load); err != nil {
		return nil, err
	}
	defer e.s.starts.Leave()
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := engine.Start(limited, spec)
	var own *machine.Error
	if err != nil && ctx.Err() == nil && limited.Err() != nil && !errors.As(err, &own) {
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("it was not ready after %.0f minutes. The computer may be very busy. Try again later.", startTimeout.Minutes()), Cause: err}
	}
	return box, err
}

// spec says what to start, from what, and what is known of it already.
func (e *entry) spec(ctx context.Context) (machine.StartSpec, machine.CheckpointRecord, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	spec := machine.StartSpec{
		ID: e.id, Life: string(machine.NewID()), Name: e.rec.Name, Image: e.rec.Image, MemoryMB: e.rec.MemoryMB, Checkpoint: e.rec.Base,
	}
	base, err := e.checkpointOrTemplate(ctx, e.rec.Base)
	if err != nil {
		return spec, base, fmt.Errorf("read checkpoint %s: %w", e.rec.Base, err)
	}
	spec.Shared = e.rec.Shared
	spec.Clone = e.rec.Base == "" || base.Clone
	if network := e.s.network; network != nil {
		spec.Env, spec.Authorities = network.Belongings()
		spec.Connect = e.carry
	}
	if e.run != nil && e.run.LastFrame >= 0 { // of others the runner may still tell an end that nobody has heard
		spec.Acked = []machine.Ack{{Seq: e.run.Seq, Index: e.run.LastFrame}}
	}
	return spec, base, nil
}

// settle takes over a sandbox that is ready and works out what it is doing. mu is held.
func (e *entry) settle(ctx context.Context, box machine.Sandbox, base machine.CheckpointRecord, memoryMB int) {
	x := &session{e: e, box: box, memoryMB: memoryMB, need: willTake(base), since: time.Now(), savedAt: time.Now(), handed: -1, stored: make(chan struct{}), cleared: make(chan struct{}),
		restored: base.LastSeq, heard: -1, weighed: -1, late: lateBudget{seq: base.LastSeq}}
	e.sess = x
	e.short = false
	e.wanted.Store(false)
	ready := box.Ready()
	if e.rec.Notice != "" && e.rec.NextNotice == "" { // it told why the machine could not be woken
		if err := e.save(ctx, func(r *machine.MachineRecord) { r.Notice = "" }); err != nil {
			e.log().Warn("a notice stays", "err", err)
		}
	}
	e.tellUnshared(ctx, ready.Unshared)
	if e.run != nil {
		e.resumeRun(ctx)
	}
	e.on(life.Awake{Said: ready, Next: e.rec.NextSeq})
	x.fitLimit() // it may have been changed while the machine was waking
	e.s.spawn(x.pump)
	e.s.poke()
}

// resumeRun records that the running instruction goes on. mu is held.
func (e *entry) resumeRun(ctx context.Context) {
	run := *e.run
	now := time.Now().UTC()
	run.ResumedAt = &now
	if err := e.s.store.Write(ctx, func(w machine.Writer) error { return w.PutInstruction(run) }); err != nil {
		e.log().Warn("the time of waking is not recorded", "err", err)
	}
	e.run = &run
	e.out = output.Layout{Limits: e.s.set.Load().Output}
	if err := e.loadOutput(ctx, &run); err != nil {
		e.log().Error("the output so far could not be read", "seq", run.Seq, "err", err)
	}
}

// loadOutput rebuilds what is known of the running instruction's output.
func (e *entry) loadOutput(ctx context.Context, run *machine.InstructionRecord) error {
	for from := 0; from < run.Items; {
		page, err := e.s.store.Items(ctx, run.Machine, run.Seq, from, 1000)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		e.out.Load(page.Items, run.HeadEnd)
		from = page.Items[len(page.Items)-1].Index + 1
	}
	return nil
}
