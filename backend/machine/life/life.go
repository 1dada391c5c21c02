// Package life decides what becomes of a machine. Its functions are pure: no lock, no clock, no
// store, no engine. The service tells it what happened and carries out what follows. LIFE.md has
// the tables, and the promise behind each row.
package life

import (
	"fmt"
	"slices"

	"github.com/forevervm/desktop/backend/machine"
)

// None is the number of no instruction.
const None = -1

// Life is what a machine is at one moment. New makes the first, Step each other one.
type Life struct {
	State machine.State
	Gone  bool // purged: nothing happens to it any more

	// The work. Instructions are known by their numbers.
	Queue     []int // those that wait, first come first; never changed in place
	Run       int   // the one that runs; a machine that was saved in its middle keeps it
	Interrupt bool  // somebody stopped Run: interrupt it once the machine is in memory

	// What keeps a machine that is not in memory from coming back for its work.
	Paused bool // a person put it to sleep in the middle of Run
	Later  bool // it could not come back; it is tried again after a while

	// The stay in memory.
	Alive   bool // the sandbox can be worked with
	Holding bool // a checkpoint is being made: nothing begins until it is
	Stale   int  // an instruction that is over on record runs in the sandbox, and is being stopped
	Stop    Stop // why Run is being stopped
}

// Stop says why the instruction that runs is being stopped.
type Stop int

// The reasons.
const (
	NotStopped Stop = iota
	ByPerson
	ByTimeout
)

// New is a machine on the disk, as the records know it: with the instruction that it was saved in
// the middle of, None for none, and with those that wait.
func New(run int, queue ...int) Life {
	return Life{State: machine.Swapped, Run: run, Queue: queue, Stale: None}
}

// NewInBin is a machine that lies in the bin.
func NewInBin() Life { return Life{State: machine.Deleted, Run: None, Stale: None} }

// Step returns the machine after an event, and the effects that the service carries out, in order.
// If work can go on, the effects include Begin or Wake. So no work waits for another event. An
// error means that the event cannot happen now: a bug of the caller. The machine is unchanged then.
func (l Life) Step(ev Event) (Life, []Effect, error) {
	next, effects := ev.step(l)
	if _, err := l.State.To(next.State); err != nil {
		return l, nil, fmt.Errorf("%T: %w", ev, err)
	}
	if next.Gone {
		return next, nil, nil
	}
	effects = slices.Clip(effects)
	begins := next.Free() && len(next.Queue) > 0
	switch {
	case begins:
		effects = append(effects, Begin{Seq: next.Queue[0]})
	case next.Wants() && !next.Alive && !next.Later:
		effects = append(effects, Wake{})
	}
	if next.State == machine.Idle && l.State != machine.Idle && !begins {
		effects = append(effects, Rest{})
	}
	return next, effects, nil
}

// Free says whether an instruction could begin at once.
func (l Life) Free() bool {
	return l.State == machine.Idle && l.Run == None && l.Alive && !l.Holding && l.Stale == None
}

// Wants says whether work waits that needs the machine in memory.
func (l Life) Wants() bool {
	return (len(l.Queue) > 0 || l.Run != None) && !l.Paused && !l.Gone && l.State != machine.Deleted
}

// AtRest says whether the machine is in memory with nothing to do.
func (l Life) AtRest() bool { return l.State == machine.Idle && l.Run == None && len(l.Queue) == 0 }

// asleep ends the stay in memory.
func (l Life) asleep() Life {
	l.State, l.Alive, l.Holding, l.Stale, l.Stop = machine.Swapped, false, false, None, NotStopped
	return l
}

// over ends the instruction that runs.
func (l Life) over() Life {
	l.Run, l.Interrupt, l.Paused, l.Stop = None, false, false, NotStopped
	return l
}

// stop begins to stop the instruction that runs, unless that has begun already.
func (l Life) stop(why Stop) (Life, []Effect) {
	if l.Stop != NotStopped {
		return l, nil
	}
	l.Stop = why
	return l, []Effect{Insist{Why: why}}
}
