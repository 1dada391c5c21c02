package service

import (
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// spread decides which of the new items are stored as rows and moves what has to leave to the
// overflow file. It advances in's counters. span, when not nil, are the stored rows to remove.
func (o owned) spread(in *machine.InstructionRecord, out *output.Layout, items []machine.StoredItem) (keep []machine.StoredItem, span *machine.Span, err error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	evicted := out.Place(in, items)
	if len(evicted) == 0 {
		return items, nil, nil
	}
	span = &machine.Span{From: evicted[0].Index, To: evicted[len(evicted)-1].Index}
	first := items[0].Index
	var leaving []machine.Item
	for from := span.From; from <= span.To && from < first; {
		page, err := o.s.store.Items(o.s.ctx, o.id, in.Seq, from, span.To-from+1)
		if err != nil {
			return nil, nil, err
		}
		for _, it := range page.Items {
			if it.Index <= span.To && it.Index < first {
				leaving = append(leaving, it)
			}
			from = it.Index + 1
		}
		if len(page.Items) == 0 {
			return nil, nil, fmt.Errorf("item %d of instruction %d is missing", from, in.Seq)
		}
	}
	for _, it := range items {
		switch {
		case it.Index <= span.To && it.Index >= span.From:
			leaving = append(leaving, it.Item)
		default:
			keep = append(keep, it)
		}
	}
	o.s.spill(in, leaving)
	return keep, span, nil
}

// spill appends items to the overflow file; those that do not fit, or cannot be written, are
// dropped and counted.
func (s *Service) spill(in *machine.InstructionRecord, items []machine.Item) {
	var records []byte
	fit := 0
	room := s.set.Load().Output.File - in.Overflow
	if s.health.diskLow() {
		room = 0
	}
	for _, it := range items {
		longer, err := output.AppendRecord(records, it)
		if err != nil || int64(len(longer)) > room {
			break
		}
		records = longer
		fit++
	}
	if fit > 0 {
		if err := output.WriteFile(output.Path(s.outputDir, in.Machine, in.Seq), in.Overflow, records); err != nil {
			s.log.Warn("the middle of an output is dropped", "machine", in.Machine, "seq", in.Seq, "err", err)
			fit = 0
		} else {
			in.Overflow += int64(len(records))
		}
	}
	for i := range items[fit:] {
		lost := output.SizeOf(&items[fit+i])
		in.OutputBytes += lost.Display // displays count where they are missed
		in.OutputDropped += lost.Text + lost.Display
	}
}

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
