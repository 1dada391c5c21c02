package life

import "time"

// leadShare makes a save due a fifth early where it falls between two instructions. A checkpoint
// within an instruction is worth less: code that ends its own Python returns to a state in which
// nothing ran.
const leadShare = 5

// Unsaved is a machine's work that is in no checkpoint yet. The zero value is none.
type Unsaved struct {
	finished time.Time // when the oldest finished work began that is in no checkpoint in which nothing runs; zero for none
	covered  bool      // that work is in one that was made in the middle of the running instruction
	since    time.Time // when the running instruction began
	from     time.Time // when it began, or was last saved; zero while nothing runs
}

// Touch notes a change that no running instruction makes.
func (u *Unsaved) Touch(now time.Time) {
	if u.finished.IsZero() {
		u.finished = now
	}
}

// Begin notes that an instruction begins.
func (u *Unsaved) Begin(now time.Time) { u.since, u.from, u.covered = now, now, false }

// Finish notes that the running instruction is over.
func (u *Unsaved) Finish() {
	if u.finished.IsZero() {
		u.finished = u.since
	}
	u.from, u.covered = time.Time{}, false
}

// Save notes that the machine is saved as it is now.
func (u *Unsaved) Save(now time.Time) {
	if u.from.IsZero() {
		u.finished = time.Time{}
	} else {
		u.from, u.covered = now, true
	}
}

// Failed notes that a save came to nothing. before is what was unsaved when it began.
func (u *Unsaved) Failed(before Unsaved) {
	u.covered = false
	if !before.finished.IsZero() {
		u.finished = before.finished
	}
}

// Due is when the machine has to be saved while there is work for it, zero for never. Finished work
// may be unsaved for most, the running instruction for within.
func (u Unsaved) Due(most, within time.Duration) time.Time {
	switch {
	case u.from.IsZero() && u.finished.IsZero():
		return time.Time{}
	case u.from.IsZero():
		return u.finished.Add(most - most/leadShare)
	case u.finished.IsZero() || u.covered:
		return u.from.Add(within)
	}
	due := u.finished.Add(most)
	if limit := u.from.Add(within); limit.Before(due) {
		return limit
	}
	return due
}
