// Package life decides what becomes of a machine. Its functions are pure: no lock, no clock, no store, no engine. The
// service gathers the facts and carries out the answer. LIFE.md has the tables, and the promise behind each row.
package life

import "github.com/forevervm/desktop/backend/machine"

// Work is what a machine has to do, and what stands in its way.
type Work struct {
	State   machine.State
	Queued  int  // instructions that wait
	Run     bool // one runs, or was saved in its middle
	Gone    bool // purged
	Paused  bool // a person swapped it in the middle of an instruction
	Alive   bool // its sandbox can be worked with
	Stale   bool // an instruction of the past is being stopped in it
	Holding bool // a checkpoint is being made, and nothing may begin until it is
	Closing bool // the daemon ends
}

// Step is what to do next for work that waits.
type Step int

const (
	Stay  Step = iota // nothing waits, or it goes on by itself
	Begin             // hand over the first of the queue
	Wake              // bring the machine into memory
)

// Free says whether an instruction could begin at once.
func (w Work) Free() bool {
	return w.State == machine.Idle && !w.Run && w.Alive && !w.Stale && !w.Holding
}

// Next is what to do for work that waits. A machine that is in memory and busy is asked again once it is free.
func (w Work) Next() Step {
	switch {
	case w.Gone, w.State == machine.Deleted, w.Paused, w.Queued == 0 && !w.Run:
		return Stay
	case w.Free():
		return Begin
	case w.Closing: // the next daemon goes on with it
		return Stay
	}
	return Wake
}

// Ready is how a machine that has come into memory goes on.
type Ready struct {
	HandOver bool  // the running instruction never got there: hand it over again
	Stale    *int  // an instruction runs that is over for us: stop it; nil for none
	TakeBack []int // instructions in the runner's own queue that are over for us
}

// Reconcile compares what the runner says with the record. run is the number of the instruction that runs in the record, -1
// for none; next is the number that the next instruction gets. What the runner says may be forged.
func Reconcile(said machine.Ready, run, next int) Ready {
	r := Ready{HandOver: run >= 0 && said.LastSeq < run}
	if s := said.Running; s != nil && *s >= 0 && *s < next && *s != run {
		stale := *s
		r.Stale = &stale
	}
	for _, seq := range said.Queued {
		if seq != run {
			r.TakeBack = append(r.TakeBack, seq)
		}
	}
	return r
}

// End is what is known of a machine whose sandbox has ended.
type End struct {
	Kind       machine.CauseKind
	Saved      bool // it was saved first
	TooLarge   bool // it took more memory than it may, twice in a row
	LeftBehind bool // it had saved a state in which nothing ran, of which nobody heard
	ByUs       bool // we ended it, because it did not do what it should
	Insisted   bool // namely because the instruction did not stop when it was interrupted

	Run        bool // an instruction ran
	HandedOver bool // and was handed over in this stay in memory
	Begun      bool // and has said something
	Again      bool // and had its second chance before
	Interrupt  bool // and was to be stopped
	Middle     bool // and the machine's base was made in its middle
}

// Outcome is what becomes of a machine whose sandbox has ended.
type Outcome int

const (
	PutAway  Outcome = iota // what was saved is its state
	ToMiddle                // back to the middle of the instruction, which goes on from there
	TryAgain                // back to where nothing ran; the instruction waits to be handed over once more
	FallBack                // back to where nothing ran; the instruction, if one ran, ends with an error
)

// Outcome decides. An instruction has one second chance: from its middle where the sandbox broke, or from its start where it
// had not begun. Else it ends with an error, so that none runs twice unnoticed.
func (e End) Outcome() Outcome {
	chance := e.Run && !e.Again && !e.Interrupt && !e.TooLarge
	switch {
	case e.Saved && !e.TooLarge:
		return PutAway
	case chance && e.Middle && e.Kind == machine.EndedBroken && !e.ByUs && !e.LeftBehind:
		return ToMiddle
	case chance && e.HandedOver && !e.Begun && !e.Insisted:
		return TryAgain
	}
	return FallBack
}
