package machine

import (
	"context"
	"fmt"
	"slices"
)

// Rewind returns a machine to one of its checkpoints. Its present state is kept as a checkpoint of its own, so that
// a rewind can be undone. Numbers go on. What runs ends, and what waits is cancelled: it was meant for another state.
func (s *Service) Rewind(ctx context.Context, name, checkpoint string) (Machine, error) {
	e, err := s.find(name)
	if err != nil {
		return Machine{}, err
	}
	if s.isClosing() {
		return Machine{}, errClosing()
	}
	return under(ctx, e, func(ctx context.Context) (Machine, error) { return e.rewind(ctx, checkpoint) })
}

// rewind is Rewind with op held.
func (e *entry) rewind(ctx context.Context, checkpoint string) (Machine, error) {
	if err := e.takeUp(ctx); err != nil {
		return Machine{}, err
	}
	target, err := e.mayRewind(ctx, checkpoint)
	if err != nil {
		return Machine{}, err
	}
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.rewindTo = ""
	}()
	if err := e.keepPresent(ctx, target); err != nil {
		return Machine{}, err
	}
	// From here on the machine is ours: the sandbox ends, what it had still to say is stored, and then the records change.
	e.mu.Lock()
	x := e.sess
	if x != nil {
		e.setState(Swapping)
	}
	e.mu.Unlock()
	if x != nil {
		x.box.Kill()
		select {
		case <-x.stored:
		case <-ctx.Done():
			return Machine{}, errClosing()
		}
	}
	err = e.s.patient("a rewind", func(ctx context.Context) error { return e.rewound(ctx, target) })
	return e.machine(), err
}

// mayRewind returns the checkpoint to rewind to. It stays until the rewind is over, though saving the present state would replace an
// automatic one.
func (e *entry) mayRewind(ctx context.Context, checkpoint string) (CheckpointRecord, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return CheckpointRecord{}, err
	}
	target, err := e.checkpointOf(ctx, checkpoint)
	if err == nil {
		e.rewindTo = target.ID
	}
	return target, err
}

// keepPresent makes the safety checkpoint, unless the present state is the target or nothing has ever happened, or the
// present state cannot be had: a machine that does not wake must be rewindable. op is held.
func (e *entry) keepPresent(ctx context.Context, target CheckpointRecord) error {
	e.mu.Lock()
	x := e.sess
	same := e.rec.Base == target.ID && (x == nil || x.version == x.clean)
	kept := x == nil && e.rec.Base == ""
	if x == nil && !kept {
		base, err := e.s.store.Checkpoint(ctx, e.rec.Base)
		if err != nil && !isNotFound(err) {
			e.mu.Unlock()
			return err
		}
		kept = err != nil || base.Kind == CheckpointManual || base.safety()
	}
	e.mu.Unlock()
	if same || kept {
		return nil
	}
	if _, err := e.keep(ctx, CheckpointAuto, "before rewind"); err != nil {
		if x != nil {
			select {
			case <-x.box.Ended():
				return nil // there is no present state to keep
			default:
			}
		}
		return err
	}
	return nil
}

// rewound writes the rewind down.
func (e *entry) rewound(ctx context.Context, target CheckpointRecord) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	from := target.lostFrom(nil)
	lost := append(slices.Clone(target.Lost), Span{from, e.rec.NextSeq - 1})
	ended, err := e.cancelled(ctx, "the machine was returned to an earlier checkpoint before it ran")
	if err != nil {
		return err
	}
	run := e.pausedRun()
	stays := target.finished(run)
	if run != nil && !stays {
		run := *run
		run.end(StatusError, errNameStopped, fmt.Sprintf("MachineStopped: the machine was returned to its state after instruction %d while this one ran.", target.LastSeq))
		ended = append(ended, run)
	}
	gone, err := e.effectsAfter(ctx, from-1)
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
	err = e.rebase(ctx, target, func(m *MachineRecord) {
		m.Live, m.Touched, m.Notice, m.NextNotice, m.Fallback = false, false, "", "", fallback
	}, func(w Writer) error {
		if err := putEnded(w, ended); err != nil {
			return err
		}
		if stays {
			if err := w.PutInstruction(*run); err != nil {
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
	e.run, e.queue, e.interrupt, e.last = run, nil, false, nil
	if e.sess != nil {
		e.clear()
	}
	e.setState(Swapped)
	e.announce(ended)
	for _, seq := range gone {
		e.republish(ctx, seq, ended)
	}
	e.kick()
	return nil
}
