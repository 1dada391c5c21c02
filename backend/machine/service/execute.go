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
	case len(o.Code) > machine.MaxCode:
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

// repeated returns the instruction that was sent before with this key, if one was; nil otherwise.
func (o owned) repeated(ctx context.Context, opts machine.ExecuteOptions) (*machine.Instruction, error) {
	if opts.Key == "" {
		return nil, nil
	}
	seq, err := o.s.store.Keyed(ctx, o.id, opts.Key)
	if machine.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := o.s.store.Instruction(ctx, o.id, seq)
	if err == nil && in.Code != opts.Code {
		return nil, machine.Conflict("The key of this instruction was used before for other code, which is step %d of %s. Send it with another key.", seq+1, o.rec.Name)
	}
	return &in.Instruction, err
}

// Execute queues an instruction. When it returns, the record is on the disk, safe from a power cut,
// and the number given. One that was sent before with the same key is returned as it is by now, and
// nothing is interrupted for it.
func (e *entry) Execute(ctx context.Context, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	if err := checkExecute(opts); err != nil {
		return machine.Instruction{}, false, err
	}
	o := e.lock()
	defer o.unlock()
	if before, err := o.repeated(ctx, opts); err != nil {
		return machine.Instruction{}, false, err
	} else if before != nil {
		return *before, false, nil
	}
	if e.s.isClosing() {
		return machine.Instruction{}, false, machine.Closing()
	}
	if err := o.usable(); err != nil {
		return machine.Instruction{}, false, err
	}
	if len(o.life.Queue) >= maxQueue && !opts.Interrupt {
		return machine.Instruction{}, false, machine.Conflict("%d steps are waiting on %s already. Wait for some of them, or cancel them.", maxQueue, o.rec.Name)
	}

	now := time.Now().UTC()
	in := machine.InstructionRecord{
		Instruction: machine.Instruction{
			Machine: e.id, Seq: o.rec.NextSeq, Code: opts.Code, Timeout: opts.Timeout, Formats: slices.Clone(opts.Formats),
			Client: opts.Client.Clean(), Summary: naming.Summary(opts.Summary),
			Status: machine.StatusQueued, QueuedAt: now,
		},
		Progress: machine.Progress{LastFrame: -1},
		Key:      opts.Key,
	}
	var cancelled []machine.InstructionRecord
	interrupted := false
	if opts.Interrupt {
		interrupted = o.run != nil || len(o.life.Queue) > 0
		var err error
		if cancelled, err = o.cancelled(ctx, "it was cancelled before it ran, because another step was sent to run at once"); err != nil {
			return machine.Instruction{}, false, err
		}
	}
	atOnce := o.life.Free() && (len(o.life.Queue) == 0 || opts.Interrupt)
	if atOnce {
		in.Start(now)
	}
	rec := o.rec
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
	o.rec = rec
	o.rec.NextSeq++
	o.rec.LastActiveAt = now
	if opts.Interrupt {
		o.on(life.Emptied{})
		o.announce(cancelled)
		o.on(life.Interrupted{})
	}
	if atOnce {
		o.begun(in)
	} else {
		o.on(life.Queued{Seq: in.Seq})
		if o.life.Run != in.Seq { // else it has begun by now, and that was told
			o.publishInstruction(&in.Instruction)
		}
	}
	// The machine works meanwhile: a power cut takes the effect together with the record.
	if err := e.s.store.Sync(); err != nil {
		e.s.health.failed(err)
		return machine.Instruction{}, false, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: fmt.Sprintf("The disk did not take the record of this instruction for certain. It runs all the same, as step %d of %s: look there before you send it again.", in.Seq+1, o.rec.Name),
			Cause:   err,
		}
	}
	return in.Instruction, interrupted, nil
}

// cancelled returns the records of all that waits, ended; nothing is written yet.
func (o owned) cancelled(ctx context.Context, because string) ([]machine.InstructionRecord, error) {
	return o.endQueue(ctx, machine.StatusCancelled, errNameCancelled, "Cancelled: "+because+".")
}

func (o owned) endQueue(ctx context.Context, status machine.InstructionStatus, name, sentence string) ([]machine.InstructionRecord, error) {
	var ended []machine.InstructionRecord
	for _, seq := range o.life.Queue {
		in, err := o.s.store.Instruction(ctx, o.id, seq)
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

// announce tells about instructions that ended.
func (o owned) announce(ended []machine.InstructionRecord) {
	for i := range ended {
		o.publishInstruction(&ended[i].Instruction)
	}
	if len(ended) > 0 {
		o.tell()
	}
}

// Cancel takes a waiting instruction out of the queue.
func (e *entry) Cancel(ctx context.Context, seq int) error {
	o := e.lock()
	defer o.unlock()
	at := slices.Index(o.life.Queue, seq)
	switch {
	case o.life.Gone:
		return machine.NoMachine(o.rec.Name)
	case seq < 0 || seq >= o.rec.NextSeq:
		return machine.NoInstruction(o.rec.Name, seq)
	case o.run != nil && o.run.Seq == seq:
		return machine.Conflict("Step %d of %s is running already. Interrupt it to stop it.", seq+1, o.rec.Name)
	case at < 0:
		return machine.Conflict("Step %d of %s is over already.", seq+1, o.rec.Name)
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
	o.on(life.Canceled{Seq: seq})
	o.announce(ended)
	o.publish()
	return nil
}

// Interrupt stops the running instruction; when nothing runs there is nothing to do.
func (e *entry) Interrupt(_ context.Context) error {
	return e.interruptIf(func(int) bool { return true })
}

// InterruptInstruction stops one instruction if it is the one that runs: never another that has
// begun meanwhile.
func (e *entry) InterruptInstruction(_ context.Context, seq int) error {
	return e.interruptIf(func(running int) bool { return running == seq })
}

func (e *entry) interruptIf(meant func(seq int) bool) error {
	o := e.lock()
	defer o.unlock()
	if err := o.usable(); err != nil {
		return err
	}
	if o.run != nil && meant(o.run.Seq) {
		o.on(life.Interrupted{})
	}
	return nil
}

// begin records an instruction that waited as running.
func (o owned) begin(seq int) {
	in, err := o.s.store.Instruction(o.s.ctx, o.id, seq)
	if err == nil {
		in.Start(time.Now().UTC())
		err = o.s.store.WriteSync(o.s.ctx, func(w machine.Writer) error { return w.PutInstruction(in) })
	}
	if err != nil {
		// The disk is full, or worse: what waits keeps waiting.
		o.s.health.failed(err)
		o.sess.again.stop()
		o.sess.again = o.s.after(retry, func() {
			o := o.lock()
			defer o.unlock()
			o.on(life.Asked{})
		})
		o.sess.rest(o)
		return
	}
	o.begun(in)
}

// begun takes up an instruction that is on record as running.
func (o owned) begun(in machine.InstructionRecord) {
	o.run, o.recent = &in, nil
	o.out = output.Layout{Limits: o.s.set.Load().Output}
	o.on(life.Begun{Seq: in.Seq})
}
