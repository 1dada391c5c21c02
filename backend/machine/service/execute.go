package service

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Names of errors that are ours, not Python's.
const (
	errNameCancelled = "Cancelled"
	errNameTimeout   = "Timeout"
	errNameStopped   = "MachineStopped"
	errNameInterrupt = "KeyboardInterrupt"
)

func checkExecute(o machine.ExecuteOptions) error {
	switch {
	case len(o.Code) > maxCode:
		return machine.Invalid("The code is larger than 4 MiB. Put it, or its data, into a file of the machine's and run that.")
	case !utf8.ValidString(o.Code):
		return machine.Invalid("The code is not valid UTF-8 text.")
	case o.Timeout < 0:
		return machine.Invalid("A timeout must be positive.")
	case len(o.Key) > maxKey:
		return machine.Invalid("The key of an instruction may have %d bytes at most.", maxKey)
	case !utf8.ValidString(o.Key):
		return machine.Invalid("The key of an instruction is not valid UTF-8 text.")
	}
	for _, f := range o.Formats {
		if f != "png" && f != "svg" {
			return machine.Invalid("There is no figure format %q; choose png or svg.", naming.Clip(f, 40))
		}
	}
	return nil
}

// maxKey is the most bytes of an instruction's key.
const maxKey = 64

// repeated returns the instruction that was sent before with this key, if one was; nil otherwise. mu is held.
func (e *entry) repeated(ctx context.Context, opts machine.ExecuteOptions) (*machine.Instruction, error) {
	if opts.Key == "" {
		return nil, nil
	}
	seq, err := e.s.store.Keyed(ctx, e.id, opts.Key)
	if machine.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := e.s.store.Instruction(ctx, e.id, seq)
	if err == nil && in.Code != opts.Code {
		return nil, machine.Conflict("The key of this instruction was used before for other code, which is instruction %d of %s. Send it with another key.", seq, e.rec.Name)
	}
	return &in.Instruction, err
}

// Execute queues an instruction. When it returns, the record is on the disk, safe from a power cut, and the number given. One that was sent before
// with the same key is returned as it is by now, and nothing is interrupted for it.
func (e *entry) Execute(ctx context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	if err := checkExecute(opts); err != nil {
		return machine.Instruction{}, false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if before, err := e.repeated(ctx, opts); err != nil {
		return machine.Instruction{}, false, err
	} else if before != nil {
		return *before, false, nil
	}
	if e.s.isClosing() {
		return machine.Instruction{}, false, machine.Closing()
	}
	if err := e.usable(); err != nil {
		return machine.Instruction{}, false, err
	}
	if len(e.life.Queue) >= maxQueue && !opts.Interrupt {
		return machine.Instruction{}, false, machine.Conflict("%d instructions are waiting on %s already. Wait for some of them, or cancel them.", maxQueue, e.rec.Name)
	}

	now := time.Now().UTC()
	in := machine.InstructionRecord{
		Instruction: machine.Instruction{
			Machine: e.id, Seq: e.rec.NextSeq, Code: opts.Code, Timeout: opts.Timeout, Formats: slices.Clone(opts.Formats),
			Client: opts.Client.Clean(),
			Status: machine.StatusQueued, QueuedAt: now,
		},
		Progress: machine.Progress{LastFrame: -1},
		Key:      opts.Key,
	}
	var cancelled []machine.InstructionRecord
	interrupted := false
	if opts.Interrupt {
		interrupted = e.run != nil || len(e.life.Queue) > 0
		var err error
		if cancelled, err = e.cancelled(ctx, "it was cancelled before it ran, because another instruction was sent to run at once"); err != nil {
			return machine.Instruction{}, false, err
		}
	}
	atOnce := e.life.Free() && (len(e.life.Queue) == 0 || opts.Interrupt)
	if atOnce {
		in.Start(now)
	}
	rec := e.rec
	changed := rec.UsedBy(in.Instruction)
	err := e.s.store.Write(ctx, func(w machine.Writer) error {
		if err := putEnded(w, cancelled); err != nil {
			return err
		}
		if changed { // rarely: the same program sends most of them
			if err := w.PutMachine(rec); err != nil {
				return err
			}
		}
		return w.AddInstruction(in)
	})
	if err != nil {
		e.s.health.failed(err)
		return machine.Instruction{}, false, err
	}
	e.rec = rec
	e.rec.NextSeq++
	e.rec.LastActiveAt = now
	if opts.Interrupt {
		e.on(life.Emptied{})
		e.announce(cancelled)
		e.on(life.Interrupted{})
	}
	if atOnce {
		e.begun(in)
	} else {
		e.on(life.Queued{Seq: in.Seq})
		if e.life.Run != in.Seq { // else it has begun by now, and that was told
			e.publishInstruction(&in.Instruction)
		}
	}
	// The machine works meanwhile: a power cut takes the effect together with the record.
	if err := e.s.store.Sync(); err != nil {
		e.s.health.failed(err)
		return machine.Instruction{}, false, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: fmt.Sprintf("The disk did not take the record of this instruction for certain. It runs all the same, as instruction %d of %s: look there before you send it again.", in.Seq, e.rec.Name),
			Cause:   err,
		}
	}
	return in.Instruction, interrupted, nil
}

// cancelled returns the records of all that waits, ended; nothing is written yet. mu is held.
func (e *entry) cancelled(ctx context.Context, because string) ([]machine.InstructionRecord, error) {
	return e.endQueue(ctx, machine.StatusCancelled, errNameCancelled, "Cancelled: "+because+".")
}

func (e *entry) endQueue(ctx context.Context, status machine.InstructionStatus, name, sentence string) ([]machine.InstructionRecord, error) {
	var ended []machine.InstructionRecord
	for _, seq := range e.life.Queue {
		in, err := e.s.store.Instruction(ctx, e.id, seq)
		if err != nil {
			return nil, err
		}
		in.End(status, name, sentence)
		ended = append(ended, in)
	}
	return ended, nil
}

// putEnded writes instructions that ended without having run to their end.
func putEnded(w machine.Writer, ended []machine.InstructionRecord) error {
	for _, in := range ended {
		if err := w.PutInstruction(in); err != nil {
			return err
		}
		if err := w.Index(in.Instruction, ""); err != nil {
			return err
		}
	}
	return nil
}

// announce tells about instructions that ended. mu is held.
func (e *entry) announce(ended []machine.InstructionRecord) {
	for i := range ended {
		e.publishInstruction(&ended[i].Instruction)
	}
	if len(ended) > 0 {
		e.tell()
	}
}

// Cancel takes a waiting instruction out of the queue.
func (e *entry) Cancel(ctx context.Context, seq int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.Index(e.life.Queue, seq)
	switch {
	case e.life.Gone:
		return machine.NoMachine(e.rec.Name)
	case seq < 0 || seq >= e.rec.NextSeq:
		return machine.NoInstruction(e.rec.Name, seq)
	case e.run != nil && e.run.Seq == seq:
		return machine.Conflict("Instruction %d of %s is running already. Interrupt it to stop it.", seq, e.rec.Name)
	case at < 0:
		return machine.Conflict("Instruction %d of %s is over already.", seq, e.rec.Name)
	}
	in, err := e.s.store.Instruction(ctx, e.id, seq)
	if err != nil {
		return err
	}
	in.End(machine.StatusCancelled, errNameCancelled, "Cancelled: it was cancelled before it ran.")
	ended := []machine.InstructionRecord{in}
	if err := e.s.store.WriteSync(ctx, func(w machine.Writer) error { return putEnded(w, ended) }); err != nil {
		return err
	}
	e.on(life.Canceled{Seq: seq})
	e.announce(ended)
	e.publish()
	return nil
}

// Interrupt stops the running instruction; when nothing runs there is nothing to do.
func (e *entry) Interrupt(_ context.Context) error {
	return e.interruptIf(func(int) bool { return true })
}

// InterruptInstruction stops one instruction if it is the one that runs: never another that has begun meanwhile.
func (e *entry) InterruptInstruction(_ context.Context, seq int) error {
	return e.interruptIf(func(running int) bool { return running == seq })
}

func (e *entry) interruptIf(meant func(seq int) bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	if e.run != nil && meant(e.run.Seq) {
		e.on(life.Interrupted{})
	}
	return nil
}

// begin records an instruction that waited as running. mu is held.
func (e *entry) begin(seq int) {
	in, err := e.s.store.Instruction(e.s.ctx, e.id, seq)
	if err == nil {
		in.Start(time.Now().UTC())
		err = e.s.store.WriteSync(e.s.ctx, func(w machine.Writer) error { return w.PutInstruction(in) })
	}
	if err != nil {
		// The disk is full, or worse: what waits keeps waiting.
		e.s.health.failed(err)
		e.sess.again.stop()
		e.sess.again = e.s.after(retry, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.on(life.Asked{})
		})
		return
	}
	e.begun(in)
}

// begun takes up an instruction that is on record as running. mu is held.
func (e *entry) begun(in machine.InstructionRecord) {
	e.run, e.recent = &in, nil
	e.out = output.Layout{Limits: e.s.set.Load().Output}
	e.on(life.Begun{Seq: in.Seq})
}
