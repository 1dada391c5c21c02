package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// Rewind returns a machine to one of its checkpoints, or to the end of one of its branches by the branch's name. What it leaves stays as a branch, under
// the name keepAs, or one that is made up; so a rewind is undone by another one. Numbers go on. What runs ends, and what waits is cancelled:
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
		e.mu.Lock()
		defer e.mu.Unlock()
		e.rewindTo = ""
	}()
	if err := e.savePresent(ctx, target); err != nil {
		return machine.Machine{}, err
	}
	// From here on the machine is ours: the sandbox ends, what it had still to say is stored, and then the records change.
	e.mu.Lock()
	x := e.sess
	if x != nil {
		e.on(life.Leaving{})
	}
	e.mu.Unlock()
	if x != nil {
		x.box.Kill()
		select {
		case <-x.stored:
		case <-ctx.Done():
			return machine.Machine{}, machine.Closing()
		}
	}
	err = e.s.patient("a rewind", func(ctx context.Context) error { return e.rewound(ctx, target, keepAs) })
	return e.Machine(), err
}

// mayRewind returns the checkpoint to rewind to. It stays until the rewind is over, though saving the present state would replace an
// automatic one.
func (e *entry) mayRewind(ctx context.Context, to, keepAs string) (machine.CheckpointRecord, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return machine.CheckpointRecord{}, err
	}
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return machine.CheckpointRecord{}, err
	}
	target, err := e.pointCalled(all, to)
	if err == nil && keepAs != "" {
		err = e.mayName(all, keepAs, e.rec.Branch)
	}
	if err == nil {
		e.rewindTo = target.ID
	}
	return target, err
}

// savePresent saves the state that a rewind leaves, unless the target has it, or comes from it, or nothing has ever happened, or it cannot be had: a
// machine that does not wake must be rewindable. What is not in memory is saved. op is held.
func (e *entry) savePresent(ctx context.Context, target machine.CheckpointRecord) error {
	e.mu.Lock()
	x, base := e.sess, e.rec.Base
	all, err := e.s.store.Checkpoints(ctx, e.id)
	unchanged := x == nil || e.run == nil && x.version == x.clean
	saved := unchanged && (base == "" || base == target.ID || target.ComesFrom(base, all) || e.saved(ctx))
	e.mu.Unlock()
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
	e.mu.Lock()
	defer e.mu.Unlock()
	from := target.LostFrom(nil)
	lost := append(slices.Clone(target.Lost), machine.Span{From: from, To: e.rec.NextSeq - 1})
	ended, err := e.cancelled(ctx, "the machine was returned to an earlier checkpoint before it ran")
	if err != nil {
		return err
	}
	run := e.pausedRun()
	stays := target.HasFinished(run)
	if run != nil && !stays {
		run := *run
		run.End(machine.StatusError, errNameStopped, fmt.Sprintf("MachineStopped: the machine was returned to its state after instruction %d while this one ran.", target.LastSeq))
		ended = append(ended, run)
	}
	gone, err := e.effectsAfter(ctx, from-1)
	if err != nil {
		return err
	}
	wereLost, err := e.s.store.RolledBack(ctx, e.id, target.LastSeq)
	if err != nil {
		return err
	}
	left, err := e.branchOff(ctx, target, keepAs)
	if err != nil {
		return err
	}
	fallback := ""
	if target.RunningSeq != nil { // the one before was of the state that is left now
		quiet, err := e.quietBefore(ctx, target)
		if err != nil {
			return err
		}
		if quiet != nil {
			fallback = quiet.ID
		}
	}
	err = e.rebase(ctx, target, func(m *machine.MachineRecord) {
		m.Live, m.Touched, m.Notice, m.NextNotice, m.Fallback = false, false, "", "", fallback
		m.Branch, m.Undo = left.line, left.undo
	}, func(w machine.Writer) error {
		if err := putEnded(w, ended); err != nil {
			return err
		}
		if stays {
			if err := w.PutInstruction(*run); err != nil {
				return err
			}
		}
		for _, c := range left.changed {
			if err := w.PutCheckpoint(c); err != nil {
				return err
			}
		}
		return w.MarkLost(e.id, lost)
	})
	if err != nil {
		return err
	}
	if !stays {
		run = nil
	}
	e.run, e.last = run, nil
	if e.sess != nil {
		e.clear()
	}
	e.on(life.Rewound{Stays: stays})
	e.publish() // the machine may have been swapped before
	e.announce(ended)
	for _, seq := range append(gone, machine.Without(wereLost, lost)...) {
		e.republish(ctx, seq, ended)
	}
	return nil
}
