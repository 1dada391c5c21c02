package machine

import "fmt"

// spread decides which of the new items are stored as rows and moves what has to leave to the overflow file. It advances
// in's counters. span, when not nil, are the stored rows to remove. mu is held.
func (e *entry) spread(in *InstructionRecord, out *output, items []StoredItem) (keep []StoredItem, span *Span, err error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	evicted := out.place(in, items)
	if len(evicted) == 0 {
		return items, nil, nil
	}
	span = &Span{evicted[0].index, evicted[len(evicted)-1].index}
	first := items[0].Index
	var leaving []Item
	for from := span.From; from <= span.To && from < first; {
		page, err := e.s.store.Items(e.s.ctx, e.id, in.Seq, from, span.To-from+1)
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
	e.s.spill(in, leaving)
	return keep, span, nil
}

// spill appends items to the overflow file; those that do not fit, or cannot be written, are dropped and counted.
func (s *Service) spill(in *InstructionRecord, items []Item) {
	var records []byte
	fit := 0
	room := s.set.Load().Output.File - in.Overflow
	if s.health.diskLow() {
		room = 0
	}
	for _, it := range items {
		longer, err := appendRecord(records, it)
		if err != nil || int64(len(longer)) > room {
			break
		}
		records = longer
		fit++
	}
	if fit > 0 {
		if err := writeOverflow(overflowPath(s.outputDir, in.Machine, in.Seq), in.Overflow, records); err != nil {
			s.log.Warn("the middle of an output is dropped", "machine", in.Machine, "seq", in.Seq, "err", err)
			fit = 0
		} else {
			in.Overflow += int64(len(records))
		}
	}
	for i := range items[fit:] {
		lost := sizeOf(&items[fit+i])
		in.OutputBytes += lost.display // displays count where they are missed
		in.OutputDropped += lost.text + lost.display
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
	in     InstructionRecord
	items  []StoredItem
	budget lateBudget
}

// storeLate appends what came while nothing ran to the instruction that ran last. Such output may be lost. mu is held.
func (t *take) storeLate() {
	if t.result != nil {
		defer func() { t.x.late = lateBudget{seq: t.run.Seq} }()
	}
	budget := t.x.late
	if len(t.background) == 0 || budget.seq < 0 {
		return
	}
	in, err := t.e.s.store.Instruction(t.e.s.ctx, t.e.id, budget.seq)
	if err != nil {
		t.e.log().Warn("background output is lost", "err", err)
		return
	}
	late := &lateOutput{in: in, budget: budget}
	for _, it := range merge(&late.in, t.background, t.e.s.set.Load().Output.merged(), t.now) {
		late.budget.items++
		late.budget.bytes += len(it.Text)
		if late.budget.items > lateItems || late.budget.bytes > lateBytes {
			late.in.Items--
			late.in.OutputDropped += int64(len(it.Text))
			continue
		}
		late.items = append(late.items, it)
	}
	err = t.e.s.store.Write(t.e.s.ctx, func(w Writer) error {
		if err := w.AddItems(t.e.id, late.in.Seq, late.items); err != nil {
			return err
		}
		return w.PutInstruction(late.in)
	})
	if err != nil {
		t.e.log().Warn("background output is lost", "err", err)
		return
	}
	t.late, t.x.late = late, late.budget
}
