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

// tooLargeAgain says whether what runs was stopped for taking more memory than it may, soon after it had come back from being stopped
// for that. Once it is worth another try, as much is freed by a save; then whoever waits for it had better know. mu is held.
func (e *entry) tooLargeAgain(x *session, cause machine.Cause) bool {
	if cause.Kind != machine.EndedMemory || !cause.OwnLimit || e.run == nil {
		return false
	}
	if time.Since(x.since) >= inARow {
		e.tooLarge = nil
	}
	return e.tooLarge != nil && *e.tooLarge == e.run.Seq
}

// tellOfMemory says in the record why a machine was put away that was stopped for its memory, if it was. mu is held.
func (e *entry) tellOfMemory(m *machine.MachineRecord, cause machine.Cause) {
	if cause.Kind != machine.EndedMemory {
		return
	}
	sentence := cmp.Or(cause.Detail, "The memory ran short.")
	switch {
	case cause.OwnLimit && e.run != nil:
		sentence += " It was saved and taken out of memory, and is given another try. Should it take as much again, what runs is ended: raise its memory limit, or have it work on less at a time."
	case cause.OwnLimit:
		sentence += " It was saved and taken out of memory. Raise its memory limit, or free what is not needed any more."
	case e.run != nil:
		sentence += " This machine was saved and taken out of memory in the middle of an instruction, and goes on by itself when there is room."
	default:
		sentence += " This machine was saved and taken out of memory; it comes back when it is used."
	}
	m.Notice = sentence
	if (e.run != nil || cause.OwnLimit) && !strings.Contains(m.NextNotice, sentence) {
		m.NextNotice = naming.Join(m.NextNotice, sentence)
	}
}

// comeBackFor plans how a machine that was stopped for its memory goes on with its work: not at once, which would only end
// the same way. mu is held.
func (e *entry) comeBackFor(cause machine.Cause) {
	e.log().Warn("the machine was stopped for its memory", "because", cause.Detail, "own limit", cause.OwnLimit)
	e.short, e.tooLarge = !cause.OwnLimit, nil
	if cause.OwnLimit && e.run != nil {
		seq := e.run.Seq
		e.tooLarge = &seq
	}
	if e.run != nil || len(e.life.Queue) > 0 {
		e.tryLater()
	}
}

// shortOfMemory says whether the computer has too little memory left for a machine to come into it.
func (s *Service) shortOfMemory() bool {
	if s.freeMemory == nil {
		return false
	}
	free, err := s.freeMemory()
	return err == nil && free < s.low()
}
