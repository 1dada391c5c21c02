package service

import (
	"cmp"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// inARow is how long a stay in memory lasts at least that ends a row of those that were cut short.
const inARow = time.Minute

// tooLargeAgain says whether what runs was stopped for taking more memory than it may, soon after
// it had come back from being stopped for that. Once it is worth another try, as much is freed by a
// save; then anyone who waits for it had better know.
func (o owned) tooLargeAgain(x *session, cause machine.Cause) bool {
	if cause.Kind != machine.EndedMemory || !cause.OwnLimit || o.run == nil {
		return false
	}
	if time.Since(x.since) >= inARow {
		o.tooLarge = nil
	}
	return o.tooLarge != nil && *o.tooLarge == o.run.Seq
}

// tellOfMemory says in the record why a machine was put away that was stopped for its memory, if it
// was.
func (o owned) tellOfMemory(m *machine.MachineRecord, cause machine.Cause) {
	if cause.Kind != machine.EndedMemory {
		return
	}
	sentence := cmp.Or(cause.Detail, "The memory ran short.")
	switch {
	case cause.OwnLimit && o.run != nil:
		sentence += " It was saved and taken out of memory, and is given another try. Should it take as much again, what runs is ended: raise its memory limit, or have it work on less at a time."
	case cause.OwnLimit:
		sentence += " It was saved and taken out of memory. Raise its memory limit, or free what is not needed any more."
	case o.run != nil:
		sentence += " This machine was saved and taken out of memory in the middle of a step. It goes on automatically when there is room."
	default:
		sentence += " This machine was saved and taken out of memory; it comes back when it is used."
	}
	m.Notice = sentence
	if (o.run != nil || cause.OwnLimit) && !strings.Contains(m.NextNotice, sentence) {
		m.NextNotice = naming.Join(m.NextNotice, sentence)
	}
}

// comeBackFor plans how a machine that was stopped for its memory goes on with its work: not at
// once, which would only end the same way.
func (o owned) comeBackFor(cause machine.Cause) {
	o.log().Warn("the machine was stopped for its memory", "because", cause.Detail, "own limit", cause.OwnLimit)
	o.short, o.tooLarge = !cause.OwnLimit, nil
	if cause.OwnLimit && o.run != nil {
		seq := o.run.Seq
		o.tooLarge = &seq
	}
	if o.run != nil || len(o.life.Queue) > 0 {
		o.tryLater()
	}
}
