package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// reap clears away a session whose sandbox has ended without anybody waiting for that.
func (e *entry) reap(x *session) {
	if e.lockOp(e.s.ctx) != nil {
		return
	}
	defer e.unlockOp()
	_ = e.s.patient("the end of a machine's stay in memory", func(ctx context.Context) error { return e.cleanUp(ctx, x) })
}

func (e *entry) cleanUp(ctx context.Context, x *session) error {
	o := e.lock()
	if o.sess != x || o.life.Gone {
		o.unlock()
		return nil
	}
	cause := x.box.Cause()
	if x.saved == nil {
		x.saved = cause.Checkpoint
	}
	if cause.Kind == machine.EndedApart && x.saved == nil {
		o.lost()
		o.unlock()
		return nil
	}
	again := o.tooLargeAgain(x, cause)
	o.unlock()
	if (life.End{Saved: x.saved != nil, TooLarge: again}).Outcome() == life.PutAway {
		return e.putAway(ctx, x)
	}
	left, err := e.leftBehind(ctx)
	if err != nil && !e.s.isAway(e.engine()) {
		return err
	}
	o = e.lock()
	defer o.unlock()
	if o.life.Gone {
		return nil
	}
	if err != nil {
		o.lost()
		return nil //nolint:nilerr // it is told when the machine is used
	}
	known, base, err := o.ending(ctx)
	if err != nil {
		return err
	}
	reason := x.killed
	known.Kind, known.TooLarge, known.LeftBehind = cause.Kind, again, left != nil
	known.ByUs, known.Insisted = reason != nil, reason != nil && reason.name != errNameStopped
	known.HandedOver = o.run != nil && x.handed == o.run.Seq
	switch {
	case again:
		reason = &end{errNameStopped, because(cause) + ", twice in a row; raise its memory limit, or have it work on less at a time"}
	case reason == nil:
		reason = &end{errNameStopped, because(cause)}
	}
	if err := o.goBack(ctx, known.Outcome(), base, *reason, left); err != nil {
		return err
	}
	o.clear()
	o.on(life.Asleep{})
	return nil
}

// lost puts a machine aside whose place cannot be reached, as after the death of the daemon: what
// became of it is found out before it is used again, which is at once where there is something to
// do.
func (o owned) lost() {
	o.clear()
	o.on(life.Asleep{})
}

// ending is what the records know of a machine whose sandbox has ended, and the checkpoint that it
// was brought into memory from.
func (o owned) ending(ctx context.Context) (life.End, machine.CheckpointRecord, error) {
	base, err := o.checkpointOrTemplate(ctx, o.rec.Base)
	if err != nil || o.run == nil {
		return life.End{}, base, err
	}
	return life.End{Run: true, Begun: o.run.LastFrame >= 0, Again: o.run.Again, Interrupt: o.life.Interrupt, Middle: base.IsWithin(o.run)}, base, nil
}

// goBack returns the machine to an earlier state, in the records; the next start does it in fact.
// left is one that is not on record yet; nil for none.
func (o owned) goBack(ctx context.Context, to life.Outcome, base machine.CheckpointRecord, why end, left *machine.CheckpointInfo) error {
	if to == life.ToMiddle {
		if middle, err := o.goOnFromMiddle(ctx, base, why); middle || err != nil {
			return err
		}
	}
	return o.fallBack(ctx, base, why, to == life.TryAgain, left)
}

// leftBehind returns what a sandbox that died had saved just before without anybody hearing of it;
// nil for nothing. What it saved in the middle of an instruction is of no use and is deleted. op is
// held.
func (e *entry) leftBehind(ctx context.Context) (*machine.CheckpointInfo, error) {
	engine, err := e.s.engineOf(e.engine())
	if err != nil {
		return nil, err
	}
	known, err := e.known(ctx)
	if err != nil {
		return nil, err
	}
	o := e.lock()
	stay := o.rec.Life
	o.unlock()
	info, err := engine.Reclaim(ctx, e.id, stay, known)
	if err != nil || info == nil || info.RunningSeq == nil {
		return info, err
	}
	return nil, e.s.saved(e.engine()).Delete(ctx, e.id, info.ID)
}

// because turns a cause into what follows "because".
func because(c machine.Cause) string {
	detail := strings.TrimRight(strings.TrimSpace(c.Detail), ".")
	for _, article := range []string{"The ", "A ", "An ", "Its ", "This "} {
		if strings.HasPrefix(detail, article) {
			detail = strings.ToLower(detail[:1]) + detail[1:]
		}
	}
	if detail != "" {
		return naming.Clip(detail, 300)
	}
	switch c.Kind {
	case machine.EndedExited:
		return "its Python ended"
	case machine.EndedMemory:
		return "the computer ran short of memory"
	}
	return "its sandbox ended unexpectedly"
}

// fallBack returns the machine to its last quiet checkpoint. The running instruction ends with an
// error, or waits to be handed over again.
func (o owned) fallBack(ctx context.Context, base machine.CheckpointRecord, why end, again bool, left *machine.CheckpointInfo) error {
	var kept machine.CheckpointRecord
	var err error
	if left != nil {
		kept, err = o.describe(ctx, *left, machine.CheckpointAuto, "", o.mark())
	} else {
		kept, err = o.checkpointOrTemplate(ctx, o.rec.Fallback)
	}
	if err != nil {
		return err
	}
	back, err := o.setBack(ctx, kept, o.rec.Touched && left == nil, why)
	if err != nil {
		return err
	}
	if left == nil && !kept.IsPastOf(&base) {
		back.undone = true
		back.explain(why)
	}
	if again {
		back.retry(why)
	}
	change := func(m *machine.MachineRecord) {
		m.Live, m.Touched, m.Base = false, false, m.Fallback
		back.tell(m)
	}
	if left != nil {
		err = o.rebase(ctx, kept, change, func(w machine.Writer) error { return w.PutCheckpoint(kept) }, back.write)
	} else {
		err = o.saveSync(ctx, change, back.write)
	}
	if err != nil {
		return err
	}
	o.log().Warn("the machine was returned to an earlier state", "because", why.reason, "lost", len(back.gone))
	back.done(ctx)
	return nil
}

// setback is what becomes of the records when a machine finds itself at an earlier checkpoint.
type setback struct {
	o      owned
	gone   []int                       // whose effect is lost with it
	lost   []machine.Span              // whose effect is lost, those before included
	run    *machine.InstructionRecord  // goes on in the checkpoint; nil for none
	ended  []machine.InstructionRecord // what ran does not
	again  *machine.InstructionRecord  // what ran had not begun: it waits again; nil for none
	to     string                      // where the machine is now
	notice string                      // empty when nothing is lost

	touched bool // something other than instructions is lost
	undone  bool // it was returned to another state before, which is lost
}

// setBack works out what it means for the machine to be at a checkpoint.
func (o owned) setBack(ctx context.Context, kept machine.CheckpointRecord, touched bool, why end) (*setback, error) {
	run := o.pausedRun()
	from := kept.LostFrom(run)
	b := &setback{o: o, lost: append(slices.Clone(kept.Lost), machine.Span{From: from, To: o.rec.NextSeq - 1})}
	var err error
	if b.gone, err = o.effectsAfter(ctx, from-1); err != nil {
		return nil, err
	}
	b.to = "to its beginning"
	if kept.LastSeq >= 0 {
		b.to = fmt.Sprintf("to its state after step %d", kept.LastSeq+1)
	}
	b.touched = touched
	b.explain(why)
	switch {
	case run == nil:
	case run.Seq < from:
		b.run = run
	default:
		run.End(machine.StatusError, why.name, brokenOff(why, run.Timeout, b.to))
		run.RolledBack = true
		run.Notice = o.rec.NextNotice
		b.ended = append(b.ended, *run)
	}
	return b, nil
}

func (b *setback) explain(why end) {
	var what []string
	if b.undone {
		what = append(what, "its return to another state before is undone")
	}
	if len(b.gone) > 0 || b.touched {
		what = append(what, goneSentence(b.gone))
	}
	b.notice = ""
	if len(what) > 0 {
		b.notice = fmt.Sprintf("This machine was returned %s, because %s: %s.", b.to, why.reason, strings.Join(what, "; "))
	}
}

// retry gives what ran and had not begun back to the queue, once, instead of ending it. With
// everything else it is set back, so nothing of it happens twice.
func (b *setback) retry(why end) {
	if len(b.ended) == 0 { // it is over in the checkpoint
		return
	}
	run := *b.o.run
	run.Status, run.StartedAt, run.ResumedAt, run.Ran, run.Again = machine.StatusQueued, nil, nil, 0, true
	run.Notice = "This step was handed over a second time, because " + why.reason + " before it had begun."
	b.again, b.ended = &run, nil
	b.gone = slices.DeleteFunc(b.gone, func(seq int) bool { return seq == run.Seq })
	b.explain(why)
}

// tell puts the notice into the machine's record.
func (b *setback) tell(m *machine.MachineRecord) {
	if b.notice != "" {
		m.Notice, m.NextNotice = b.notice, b.notice
	}
}

// write writes down what becomes of the instructions.
func (b *setback) write(w machine.Writer) error {
	if err := putEnded(w, b.ended); err != nil {
		return err
	}
	for _, run := range []*machine.InstructionRecord{b.run, b.again} {
		if run == nil {
			continue
		}
		if err := w.PutInstruction(*run); err != nil {
			return err
		}
	}
	return w.MarkLost(b.o.id, b.lost)
}

// done takes over what was written, and tells.
func (b *setback) done(ctx context.Context) {
	b.o.run, b.o.last = b.run, nil
	back := life.SetBack{GoesOn: b.run != nil, Again: life.None}
	if b.again != nil {
		back.Again = b.again.Seq
	}
	b.o.on(back)
	if b.again != nil {
		b.o.publishInstruction(&b.again.Instruction)
	}
	b.o.announce(b.ended)
	for _, seq := range b.gone {
		b.o.republish(ctx, seq, b.ended)
	}
}

// brokenOff is the error of the instruction that was running.
func brokenOff(why end, timeout time.Duration, to string) string {
	returned := fmt.Sprintf("This machine was returned %s, because %s.", to, why.reason)
	switch why.name {
	case errNameTimeout:
		return timedOut(timeout) + " The code did not react to being interrupted. " + returned
	case errNameInterrupt:
		return "KeyboardInterrupt: the code did not react to being interrupted. " + returned
	}
	return why.name + ": " + returned + " The step is not run again automatically."
}

// effectsAfter returns the instructions after last that ran, or run, and whose effect is not lost
// already.
func (o owned) effectsAfter(ctx context.Context, last int) ([]int, error) {
	var gone []int
	for after := last; ; {
		page, err := o.s.store.Instructions(ctx, o.id, machine.InstructionQuery{After: &after, Limit: 500})
		if err != nil {
			return nil, err
		}
		for _, in := range page.Items {
			if in.StartedAt != nil && !in.RolledBack {
				gone = append(gone, in.Seq)
			}
			after = in.Seq
		}
		if page.Next == "" {
			return gone, nil
		}
	}
}

// goneSentence says what was lost: "what steps 13-15 changed is gone; their record stands".
func goneSentence(gone []int) string {
	switch len(gone) {
	case 0:
		return "what was changed since is gone"
	case 1:
		return fmt.Sprintf("what step %d changed is gone; its record stands", gone[0]+1)
	}
	first, last := gone[0], gone[len(gone)-1]
	if last-first == len(gone)-1 {
		return fmt.Sprintf("what steps %d-%d changed is gone; their record stands", first+1, last+1)
	}
	return fmt.Sprintf("what %d steps between %d and %d changed is gone; their record stands", len(gone), first+1, last+1)
}

// republish tells an instruction again whose record has changed.
func (o owned) republish(ctx context.Context, seq int, but []machine.InstructionRecord) {
	for _, b := range but {
		if b.Seq == seq {
			return
		}
	}
	if in, err := o.s.store.Instruction(ctx, o.id, seq); err == nil {
		o.publishInstruction(&in.Instruction)
	}
}
