package service

import (
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// hearOfPast looks through frames for the ends of instructions that were over for us and went on
// all the same, because the machine came back from a checkpoint made in their middle: they were
// broken off when it went to the bin, or it was returned to there. Their clients have been
// answered, so that an end comes changes no status; but what people read is made true, and the next
// result says it, too.
func (x *session) hearOfPast(o owned, batch []machine.Frame) error {
	for i := range batch {
		f := &batch[i]
		if f.Type != machine.FrameResult || f.Seq <= x.heard || f.Seq > x.restored || o.run != nil && o.run.Seq == f.Seq {
			continue
		}
		in, err := o.s.store.Instruction(o.s.ctx, o.id, f.Seq)
		if err != nil && !machine.IsNotFound(err) {
			return err
		}
		if err == nil && in.WentOn(f) {
			err = o.saveSync(o.s.ctx, func(m *machine.MachineRecord) {
				if f.Result.ErrorName != errNameInterrupt {
					m.NextNotice = naming.Join(m.NextNotice, fmt.Sprintf("Step %d went on when this machine came back into memory, %s: what it changed is there.", in.Seq+1, f.Result.How()))
					m.Notice = m.NextNotice
				}
			}, func(w machine.Writer) error { return w.PutInstruction(in) })
			if err != nil {
				return err
			}
			o.publishInstruction(&in.Instruction)
		}
		x.heard = f.Seq
	}
	return nil
}
