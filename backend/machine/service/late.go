package service

import (
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Background output is appended to the instruction that ran last, up to these bounds.
const (
	lateBytes = 1 << 20
	lateItems = 1000
)

// lateBudget is how much background output the last instruction has been given.
type lateBudget struct {
	seq          int // -1 for none
	bytes, items int
}

// lateOutput is background output to be appended to an instruction that is over.
type lateOutput struct {
	in     machine.InstructionRecord
	items  []machine.StoredItem
	budget lateBudget
}

// storeLate appends what came while nothing ran to the instruction that ran last. Such output may
// be lost.
func (t *take) storeLate() {
	if t.result != nil {
		defer func() { t.x.late = lateBudget{seq: t.run.Seq} }()
	}
	budget := t.x.late
	if len(t.background) == 0 || budget.seq < 0 {
		return
	}
	in, err := t.o.s.store.Instruction(t.o.s.ctx, t.o.id, budget.seq)
	if err != nil {
		t.o.log().Warn("background output is lost", "err", err)
		return
	}
	late := &lateOutput{in: in, budget: budget}
	for _, it := range output.Merge(&late.in, t.background, t.o.s.set.Load().Output.Merged(), t.now) {
		late.budget.items++
		late.budget.bytes += len(it.Text)
		if late.budget.items > lateItems || late.budget.bytes > lateBytes {
			late.in.Items--
			late.in.OutputDropped += int64(len(it.Text))
			continue
		}
		late.items = append(late.items, it)
	}
	err = t.o.s.store.Write(t.o.s.ctx, func(w machine.Writer) error {
		if err := w.AddItems(t.o.id, late.in.Seq, late.items); err != nil {
			return err
		}
		return w.PutInstruction(late.in)
	})
	if err != nil {
		t.o.log().Warn("background output is lost", "err", err)
		return
	}
	t.late, t.x.late = late, late.budget
}
