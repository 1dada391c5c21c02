package service

import (
	"time"

	"github.com/forevervm/desktop/backend/machine/life"
)

// When a machine is saved without being asked to be. An idle one is saved a moment after its last work, see Settings.CheckpointAfterIdle. A busy one is
// saved between two instructions, or in the middle of one, as soon as it is due.

const (
	// mostUnsaved is how long finished work may be unsaved. A save stops the machine for about 100 ms, so this costs 2 % of the time at most.
	mostUnsaved = 5 * time.Second
	// mostUnsavedWithin is how long the running instruction may be unsaved. It is longer, as its checkpoint helps only after an outage: code that
	// ends its own Python returns to a state in which nothing ran.
	mostUnsavedWithin = time.Minute
	// stillShare has a machine stand still for a tenth of the time at most. The rest of a save goes on beside its work, and gives way to it.
	stillShare = 10
	// burstApart is how far apart those checkpoints are that stay of work that never pauses. Others of them are replaced by the next one.
	burstApart = time.Minute
)

// touch notes a change of the machine's state that no running instruction makes. mu is held.
func (x *session) touch() {
	x.version++
	x.unsaved.Touch(time.Now())
}

// finish notes that the running instruction is over. mu is held.
func (x *session) finish() {
	x.version++ // a checkpoint made meanwhile holds its beginning only
	x.unsaved.Finish()
}

// soonest is when the next automatic save may begin. mu is held.
func (x *session) soonest() time.Time {
	return later(x.notBefore, x.savedAt.Add(x.e.s.set.Load().CheckpointEvery))
}

// due is when the machine has to be saved; zero for never. mu is held.
func (x *session) due() time.Time {
	set := x.e.s.set.Load()
	if set.CheckpointEvery < 0 {
		return time.Time{}
	}
	due := x.unsaved.Due(max(set.MostUnsaved, set.CheckpointAfterIdle), set.MostUnsavedWithin)
	if due.IsZero() {
		return due
	}
	return later(due, x.soonest())
}

// plan sets the alarm for the next save of a busy machine. mu is held.
func (x *session) plan() {
	x.overdue.stop()
	x.overdue = nil
	if at := x.due(); !at.IsZero() && x.alive() && x.e.run != nil {
		x.saveIn(time.Until(at))
	}
}

// saveIn saves the machine after a while, if it is due then. mu is held.
func (x *session) saveIn(d time.Duration) {
	e := x.e
	x.overdue = e.s.after(max(0, d), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.sess != x || !x.alive() || e.run == nil || e.life.Holding { // the end of a save plans the next
			return
		}
		save := e.dueSave(x)
		if save == nil {
			x.saveIn(retry)
			return
		}
		e.on(life.Held{})
		go save()
	})
}
