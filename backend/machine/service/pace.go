package service

import (
	"time"

	"github.com/forevervm/desktop/backend/machine/life"
)

// When a machine is saved without being asked to be. An idle one is saved a moment after its last
// work, see Settings.CheckpointAfterIdle. A busy one is saved between two instructions, or in the
// middle of one, as soon as it is due.

const (
	// mostUnsaved is how long finished work may be unsaved. A save stops the machine for about 100
	// ms, so this costs 2 % of the time at most.
	mostUnsaved = 5 * time.Second
	// mostUnsavedWithin is how long the running instruction may be unsaved. It is longer, as its
	// checkpoint helps only after an outage: code that ends its own Python returns to a state in
	// which nothing ran.
	mostUnsavedWithin = time.Minute
	// stillShare has a machine stand still for a tenth of the time at most. The rest of a save goes
	// on beside its work, and gives way to it.
	stillShare = 10
	// burstApart is how far apart those checkpoints are that stay of work that never pauses. Others
	// of them are replaced by the next one.
	burstApart = time.Minute
)

// touch notes a change of the machine's state that no running instruction makes.
func (x *session) touch(o owned) {
	x.version++
	x.unsaved.Touch(time.Now())
}

// finish notes that the running instruction is over.
func (x *session) finish(o owned) {
	x.version++ // a checkpoint made meanwhile holds its beginning only
	x.unsaved.Finish()
}

// soonest is when the next automatic save may begin.
func (x *session) soonest(o owned) time.Time {
	return later(x.notBefore, x.savedAt.Add(o.s.set.Load().CheckpointEvery))
}

// due is when the machine has to be saved; zero for never.
func (x *session) due(o owned) time.Time {
	set := o.s.set.Load()
	if set.CheckpointEvery < 0 {
		return time.Time{}
	}
	due := x.unsaved.Due(max(set.MostUnsaved, set.CheckpointAfterIdle), set.MostUnsavedWithin)
	if due.IsZero() {
		return due
	}
	return later(due, x.soonest(o))
}

// plan sets the alarm for the next save of a busy machine.
func (x *session) plan(o owned) {
	x.overdue.stop()
	x.overdue = nil
	if at := x.due(o); !at.IsZero() && x.alive(o) && o.run != nil {
		x.saveIn(o, time.Until(at))
	}
}

// saveIn saves the machine after a while, if it is due then.
func (x *session) saveIn(o owned, d time.Duration) {
	x.overdue = o.s.after(max(0, d), func() {
		o := x.e.lock()
		defer o.unlock()
		if o.sess != x || !x.alive(o) || o.run == nil || o.life.Holding { // the end of a save plans the next
			return
		}
		save := o.dueSave(x)
		if save == nil {
			x.saveIn(o, retry)
			return
		}
		o.on(life.Held{})
		go save()
	})
}
