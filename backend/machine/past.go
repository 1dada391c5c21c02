package machine

import (
	"fmt"
	"strings"
)

// hearOfPast looks through frames for the ends of instructions that were over for us and went on all the same, because the machine came back
// from a checkpoint made in their middle: they were broken off when it went to the bin, or it was returned to there. Their clients have been
// answered, so that an end comes changes no status; but what people read is made true, and the next result says it, too. mu is held.
func (x *session) hearOfPast(batch []Frame) error {
	e := x.e
	for i := range batch {
		f := &batch[i]
		if f.Type != FrameResult || f.Seq <= x.heard || f.Seq > x.restored || e.run != nil && e.run.Seq == f.Seq {
			continue
		}
		in, err := e.s.store.Instruction(e.s.ctx, e.id, f.Seq)
		if err != nil && !isNotFound(err) {
			return err
		}
		if err == nil && in.wentOn(f) {
			err = e.saveSync(e.s.ctx, func(m *MachineRecord) {
				if f.Result.ErrorName != errNameInterrupt {
					m.NextNotice = joinSentences(m.NextNotice, fmt.Sprintf("Instruction %d went on when this machine came back into memory, %s: what it changed is there.", in.Seq, f.Result.how()))
					m.Notice = m.NextNotice
				}
			}, func(w Writer) error { return w.PutInstruction(in) })
			if err != nil {
				return err
			}
			e.publishInstruction(&in.Instruction)
		}
		x.heard = f.Seq
	}
	return nil
}

// wentOn notes the end of an instruction that was over before, and says whether that is news: it may be one that is on record and was not
// acknowledged yet.
func (in *InstructionRecord) wentOn(f *Frame) bool {
	if !in.Status.Done() || !in.RolledBack && f.Index <= in.LastFrame {
		return false
	}
	in.LastFrame = f.Index
	in.RolledBack = in.RolledBack && !f.Result.OK
	if told := "It went on when the machine was next in memory, " + f.Result.how() + "; what it put out there is not kept."; !strings.Contains(in.Notice, told) {
		in.Notice = joinSentences(in.Notice, told)
	}
	return true
}

// how says how an instruction ended, as the end of a sentence.
func (r *Result) how() string {
	if r.OK {
		return "and got to its end"
	}
	return "until it ended with " + clip(r.ErrorName, maxErrorName)
}
