package service

import (
	"context"
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// goOnFromMiddle returns the machine to base, which was made in the middle of the running
// instruction, which goes on from there, and says whether that is possible. It does so once for
// each such checkpoint: code that brings its sandbox down would do that forever. What the
// instruction put out after the checkpoint comes again, so it is taken out of the record.
func (o owned) goOnFromMiddle(ctx context.Context, base machine.CheckpointRecord, why end) (bool, error) {
	var err error
	run := *o.run
	run.Pause(base.CreatedAt)
	put := run.Items
	run.Progress, run.Items, run.OutputBytes, run.OutputDropped, run.Again = base.Mark.Progress, base.Mark.Items, base.Mark.OutputBytes, base.Mark.OutputDropped, true
	if run.Overflow, err = output.LengthBefore(output.Path(o.s.kept.Dir, o.id, run.Seq), o.run.Overflow, run.Items); err != nil {
		// No power cut is kept from that file. To fail would have this tried again forever, so the
		// machine falls back to where nothing ran.
		o.log().Warn("the machine cannot return to the middle of an instruction", "seq", run.Seq, "err", err)
		return false, nil
	}
	back, err := o.setBack(ctx, base, o.rec.Touched, why)
	if err != nil {
		return false, err
	}
	back.run = &run
	back.notice = fmt.Sprintf("This machine was returned to the middle of step %d, as it was saved at %s, because %s. The step goes on from there: what it did after that is done again.",
		run.Seq+1, base.CreatedAt.Local().Format("15:04:05"), why.reason)
	if o.rec.Touched {
		back.notice += " Files that were put into the machine after that are gone."
	}
	err = o.saveSync(ctx, func(m *machine.MachineRecord) {
		m.Live, m.Touched = false, false
		back.tell(m)
	}, back.write, func(w machine.Writer) error { return w.RemoveItems(o.id, run.Seq, run.Items, put) })
	if err != nil {
		return false, err
	}
	o.log().Warn("the machine was returned to the middle of an instruction", "because", why.reason, "seq", run.Seq)
	back.done(ctx)
	o.recent = nil
	o.publishInstruction(&run.Instruction)
	return true, nil
}

// mayComeBackAgain notes that the running instruction has got on since it was last returned to its
// middle.
func (o owned) mayComeBackAgain(c machine.CheckpointRecord) {
	if o.run == nil || !o.run.Again || !c.IsWithin(o.run) {
		return
	}
	run := *o.run
	run.Again = false
	if err := o.s.store.Write(o.s.ctx, func(w machine.Writer) error { return w.PutInstruction(run) }); err != nil {
		o.log().Warn("an instruction would not come back from its middle", "seq", run.Seq, "err", err)
		return
	}
	o.run = &run
}
