package service

import (
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// hearOfPast looks through frames for the ends of instructions that were over for us and went on all the same, because the machine came back
// from a checkpoint made in their middle: they were broken off when it went to the bin, or it was returned to there. Their clients have been
// answered, so that an end comes changes no status; but what people read is made true, and the next result says it, too. mu is held.
func (x *session) hearOfPast(batch []machine.Frame) error {
	e := x.e
	for i := range batch {
		f := &batch[i]
		if f.Type != machine.FrameResult || f.Seq <= x.heard || f.Seq > x.restored || e.run != nil && e.run.Seq == f.Seq {
			continue
		}
		in, err := e.s.store.Instruction(e.s.ctx, e.id, f.Seq)
		if err != nil && !machine.IsNotFound(err) {
			return err
		}
		if err == nil && in.WentOn(f) {
			err = e.saveSync(e.s.ctx, func(m *machine.MachineRecord) {
				if f.Result.ErrorName != errNameInterrupt {
					m.NextNotice = naming.Join(m.NextNotice, fmt.Sprintf("Instruction %d went on when this machine came back into memory, %s: what it changed is there.", in.Seq, f.Result.How()))
					m.Notice = m.NextNotice
				}
			}, func(w machine.Writer) error { return w.PutInstruction(in) })
			if err != nil {
				return err
			}
			e.publishInstruction(&in.Instruction)
		}
		x.heard = f.Seq
	}
	return nil
}
