package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// Rewind returns a machine to one of its checkpoints, or to the end of one of its branches by the
// branch's name. What it leaves stays as a branch, under the name keepAs, or one that is made up;
// so a rewind is undone by another one. Numbers go on. What runs ends, and what waits is cancelled:
// it was meant for another state.
func (e *entry) Rewind(ctx context.Context, to, keepAs string) (machine.Machine, error) {
	keepAs, err := checkBranchName(keepAs)
	if err != nil {
		return machine.Machine{}, err
	}
	if e.s.isClosing() {
		return machine.Machine{}, machine.Closing()
	}
	return under(ctx, e, func(ctx context.Context) (machine.Machine, error) { return e.rewind(ctx, to, keepAs) })
}

// rewind is Rewind with op held.
func (e *entry) rewind(ctx context.Context, to, keepAs string) (machine.Machine, error) {
	if err := e.takeUp(ctx); err != nil {
		return machine.Machine{}, err
	}
	target, err := e.mayRewind(ctx, to, keepAs)
	if err != nil {
		return machine.Machine{}, err
	}
	defer func() {
		o := e.lock()
		defer o.unlock()
		o.rewindTo = ""
	}()
	if err := e.savePresent(ctx, target); err != nil {
		return machine.Machine{}, err
	}
	// From here on the machine is ours: the sandbox ends, what it had still to say is stored, and
	// then the records change.
	o := e.lock()
	x := o.sess
	if x != nil {
		o.on(life.Leaving{})
	}
	o.unlock()
	if x != nil {
		x.box.Kill()
		select {
		case <-x.stored:
		case <-ctx.Done():
			return machine.Machine{}, machine.Closing()
		}
	}
	err = e.s.patient("a rewind", func(ctx context.Context) error { return o.rewound(ctx, target, keepAs) })
	return e.Machine(), err
}

// mayRewind returns the checkpoint to rewind to. It stays until the rewind is over, though saving
// the present state would replace an automatic one.
func (e *entry) mayRewind(ctx context.Context, to, keepAs string) (machine.CheckpointRecord, error) {
	o := e.lock()
	defer o.unlock()
	if err := o.usable(); err != nil {
		return machine.CheckpointRecord{}, err
	}
	all, err := o.points(ctx)
	if err != nil {
		return machine.CheckpointRecord{}, err
	}
	target, err := all.Find(to)
	if err == nil && keepAs != "" {
		err = all.MayName(keepAs, o.rec.Branch)
	}
	if err == nil {
		o.rewindTo = target.ID
	}
	return target, err
}

// savePresent saves the state that a rewind leaves, unless the target has it, or comes from it, or
// nothing has ever happened, or it cannot be had: a machine that does not wake must be rewindable.
// What is not in memory is saved. op is held.
func (e *entry) savePresent(ctx context.Context, target machine.CheckpointRecord) error {
	o := e.lock()
	x, base := o.sess, o.rec.Base
	all, err := e.s.store.Checkpoints(ctx, e.id)
	unchanged := x == nil || o.run == nil && x.version == x.clean
	saved := unchanged && (base == "" || base == target.ID || target.ComesFrom(base, all) || o.saved(ctx))
	o.unlock()
	if err != nil || saved {
		return err
	}
	if _, err := e.checkpoint(ctx, x, machine.CheckpointAuto, "", true); err != nil {
		select {
		case <-x.box.Ended():
			return nil // there is no present state to save, but that of the last checkpoint
		default:
			return err
		}
	}
	return nil
}

// rewound writes the rewind down.
func (e *entry) rewound(ctx context.Context, target machine.CheckpointRecord, keepAs string) error {
	o := e.lock()
	defer o.unlock()
	from := target.LostFrom(nil)
	lost := append(slices.Clone(target.Lost), machine.Span{From: from, To: o.rec.NextSeq - 1})
	ended, err := o.cancelled(ctx, "the machine was returned to an earlier checkpoint before it ran")
	if err != nil {
		return err
	}
	run := o.pausedRun()
	stays := target.HasFinished(run)
	if run != nil && !stays {
		run := *run
		run.End(machine.StatusError, errNameStopped, fmt.Sprintf("MachineStopped: the machine was returned to its state after step %d while this one ran.", target.LastSeq+1))
		ended = append(ended, run)
	}
	gone, err := o.effectsAfter(ctx, from-1)
	if err != nil {
		return err
	}
	wereLost, err := e.s.store.RolledBack(ctx, e.id, target.LastSeq)
	if err != nil {
		return err
	}
	all, err := o.points(ctx)
	if err != nil {
		return err
	}
	left := all.Leave(target, keepAs, time.Now().UTC())
	fallback := ""
	if target.RunningSeq != nil { // the one before was of the state that is left now
		if quiet := all.QuietBefore(target); quiet != nil {
			fallback = quiet.ID
		}
	}
	err = o.rebase(ctx, target, func(m *machine.MachineRecord) {
		m.Live, m.Touched, m.Notice, m.NextNotice, m.Fallback = false, false, "", "", fallback
		m.Branch, m.Undo = left.Line, left.Undo
	}, func(w machine.Writer) error {
		if err := putEnded(w, ended); err != nil {
			return err
		}
		if stays {
			if err := w.PutInstruction(*run); err != nil {
				return err
			}
		}
		for _, c := range left.Changed {
			if err := w.PutCheckpoint(c); err != nil {
				return err
			}
		}
		return w.MarkLost(o.id, lost)
	})
	if err != nil {
		return err
	}
	if !stays {
		run = nil
	}
	last, err := o.s.store.Instruction(ctx, o.id, target.LastSeq)
	o.rec.Failed = err == nil && last.Status == machine.StatusError
	o.run, o.last = run, nil
	if o.sess != nil {
		o.clear()
	}
	o.on(life.Rewound{Stays: stays})
	o.publish() // the machine may have been swapped before
	o.announce(ended)
	for _, seq := range append(gone, machine.Without(wereLost, lost)...) {
		o.republish(ctx, seq, ended)
	}
	return nil
}
