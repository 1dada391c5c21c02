package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
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
	e.mu.Lock()
	if e.sess != x || e.gone {
		e.mu.Unlock()
		return nil
	}
	cause := x.box.Cause()
	if x.saved == nil {
		x.saved = cause.Checkpoint
	}
	if x.saved != nil {
		short := cause.Kind == EndedMemory
		e.mu.Unlock()
		if err := e.putAway(ctx, x); err != nil {
			return err
		}
		e.mu.Lock()
		if short && e.run != nil {
			e.tryLater()
		}
		e.mu.Unlock()
		return nil
	}
	defer e.mu.Unlock()
	reason := x.killed
	if reason == nil {
		reason = &end{errNameStopped, because(cause)}
	}
	if err := e.fallBack(ctx, *reason); err != nil {
		return err
	}
	e.clear()
	e.setState(Swapped)
	e.kick()
	return nil
}

// because turns a cause into what follows "because".
func because(c Cause) string {
	detail := strings.TrimRight(strings.TrimSpace(c.Detail), ".")
	for _, article := range []string{"The ", "A ", "An ", "Its ", "This "} {
		if strings.HasPrefix(detail, article) {
			detail = strings.ToLower(detail[:1]) + detail[1:]
		}
	}
	if detail != "" {
		return clip(detail, 300)
	}
	switch c.Kind {
	case EndedExited:
		return "its Python ended"
	case EndedMemory:
		return "the computer ran short of memory"
	}
	return "its sandbox ended unexpectedly"
}

// fallBack returns the machine to its last quiet checkpoint, in the records; the next start does it in fact. The running
// instruction ends with an error, never to be run again by itself. mu is held.
func (e *entry) fallBack(ctx context.Context, why end) error {
	kept := CheckpointRecord{Checkpoint: Checkpoint{LastSeq: -1}}
	if e.rec.Fallback != "" {
		var err error
		if kept, err = e.s.store.Checkpoint(ctx, e.rec.Fallback); err != nil {
			return err
		}
	}
	gone, err := e.effectsAfter(ctx, kept.LastSeq)
	if err != nil {
		return err
	}
	lost := append(slices.Clone(kept.Lost), Span{kept.LastSeq + 1, e.rec.NextSeq - 1})
	to := "to its beginning"
	if kept.LastSeq >= 0 {
		to = fmt.Sprintf("to its state after instruction %d", kept.LastSeq)
	}
	notice := ""
	if len(gone) > 0 || e.rec.Touched {
		notice = fmt.Sprintf("This machine was returned %s, because %s: %s.", to, why.reason, goneSentence(gone))
	}
	run, ended := e.pausedRun(), []InstructionRecord(nil)
	stays := kept.finished(run)
	if run != nil && !stays {
		run := *run
		run.end(StatusError, why.name, brokenOff(why, run.Timeout, to))
		run.RolledBack = true
		run.Notice = e.rec.NextNotice
		ended = append(ended, run)
	}
	err = e.saveSync(ctx, func(m *MachineRecord) {
		m.Live, m.Touched, m.Base = false, false, m.Fallback
		if notice != "" {
			m.Notice, m.NextNotice = notice, notice
		}
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
	e.log().Warn("the machine was returned to an earlier state", "because", why.reason, "lost", len(gone))
	if !stays {
		run = nil
	}
	e.run, e.interrupt, e.last = run, false, nil
	e.announce(ended)
	for _, seq := range gone {
		e.republish(ctx, seq, ended)
	}
	return nil
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
	return why.name + ": " + returned + " The instruction is not run again by itself."
}

// effectsAfter returns the instructions after last that ran, or run, and whose effect is not lost already. mu is held.
func (e *entry) effectsAfter(ctx context.Context, last int) ([]int, error) {
	var gone []int
	for after := last; ; {
		page, err := e.s.store.Instructions(ctx, e.id, InstructionQuery{After: &after, Limit: 500})
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

// goneSentence says what was lost: "what instructions 13-15 changed is gone; their record stands".
func goneSentence(gone []int) string {
	switch len(gone) {
	case 0:
		return "what was changed since is gone"
	case 1:
		return fmt.Sprintf("what instruction %d changed is gone; its record stands", gone[0])
	}
	first, last := gone[0], gone[len(gone)-1]
	if last-first == len(gone)-1 {
		return fmt.Sprintf("what instructions %d-%d changed is gone; their record stands", first, last)
	}
	return fmt.Sprintf("what %d instructions between %d and %d changed is gone; their record stands", len(gone), first, last)
}

// republish tells an instruction again whose record has changed. mu is held.
func (e *entry) republish(ctx context.Context, seq int, but []InstructionRecord) {
	for _, b := range but {
		if b.Seq == seq {
			return
		}
	}
	if in, err := e.s.store.Instruction(ctx, e.id, seq); err == nil {
		e.publishInstruction(&in.Instruction)
	}
}
