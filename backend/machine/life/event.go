package life

import (
	"slices"

	"github.com/forevervm/desktop/backend/machine"
)

// Event is something that has happened to a machine. It is on record already where it has to
// survive the daemon.
type Event interface {
	step(l Life) (Life, []Effect)
}

// Calls.

// Queued says that an instruction is on record and waits.
type Queued struct{ Seq int }

func (ev Queued) step(l Life) (Life, []Effect) {
	l.Queue = append(slices.Clone(l.Queue), ev.Seq)
	l.Later = false
	return l, nil
}

// Begun says that an instruction is on record as the one that runs. It was the first of the queue,
// or came to a free machine.
type Begun struct{ Seq int }

func (ev Begun) step(l Life) (Life, []Effect) {
	if len(l.Queue) > 0 && l.Queue[0] == ev.Seq {
		l.Queue = l.Queue[1:]
	}
	l = l.over()
	l.State, l.Run = machine.Running, ev.Seq
	return l, []Effect{Hand(ev)}
}

// Canceled says that an instruction that waited is over.
type Canceled struct{ Seq int }

func (ev Canceled) step(l Life) (Life, []Effect) {
	l.Queue = slices.DeleteFunc(slices.Clone(l.Queue), func(seq int) bool { return seq == ev.Seq })
	return l, nil
}

// Emptied says that everything that waited is over.
type Emptied struct{}

func (Emptied) step(l Life) (Life, []Effect) {
	l.Queue = nil
	return l, nil
}

// Interrupted says that a person stops what runs. If the machine is on disk, that happens once it
// wakes.
type Interrupted struct{}

func (Interrupted) step(l Life) (Life, []Effect) {
	if l.Run == None {
		return l, nil
	}
	l.Interrupt, l.Paused, l.Later = true, false, false
	if l.State == machine.Running && l.Alive {
		return l.stop(ByPerson)
	}
	return l, nil
}

// TimedOut says that the time of an instruction is up.
type TimedOut struct{ Seq int }

func (ev TimedOut) step(l Life) (Life, []Effect) {
	if l.Run != ev.Seq || l.State != machine.Running || l.Holding || !l.Alive {
		return l, nil
	}
	return l.stop(ByTimeout)
}

// Coming into memory.

// Waking says that an engine begins to bring the machine into memory.
type Waking struct{}

func (Waking) step(l Life) (Life, []Effect) {
	l.State = machine.Waking
	return l, nil
}

// Awake says that the machine is in memory. Said is what its runner tells, which may be forged;
// Next is the number that the next instruction gets.
type Awake struct {
	Said machine.Ready
	Next int
}

func (ev Awake) step(l Life) (Life, []Effect) {
	l.Alive, l.Paused, l.Later = true, false, false
	found := Reconcile(ev.Said, l.Run, ev.Next)
	var effects []Effect
	if len(found.TakeBack) > 0 {
		effects = append(effects, TakeBack{Seqs: found.TakeBack})
	}
	if found.Stale != nil {
		l.Stale = *found.Stale
		effects = append(effects, InsistPast{Seq: l.Stale})
	}
	if l.Run == None {
		l.State = machine.Idle
		return l, effects
	}
	l.State = machine.Running
	effects = append(effects, GoOn{Seq: l.Run, HandOver: found.HandOver})
	if l.Interrupt {
		stopped, insist := l.stop(ByPerson)
		return stopped, append(effects, insist...)
	}
	return l, effects
}

// NotAwake says that the machine could not be brought into memory.
type NotAwake struct{}

func (NotAwake) step(l Life) (Life, []Effect) {
	l.State = machine.Swapped
	return l, nil
}

// GaveUp says that what waited is over, with an error, because the machine cannot be brought into
// memory. Lost says that what ran is over, too. Else it is not lost, and the machine is tried again
// later.
type GaveUp struct{ Lost bool }

func (ev GaveUp) step(l Life) (Life, []Effect) {
	l.Queue = nil
	if ev.Lost {
		l = l.over()
	}
	l.Later = l.Run != None
	return l, nil
}

// LeftAlone says that the machine does not wake for a while: it just failed to, or memory is short.
type LeftAlone struct{}

func (LeftAlone) step(l Life) (Life, []Effect) {
	l.Later = true
	return l, nil
}

// Asked changes nothing. It asks for the next effect, after the last one could not be carried out.
type Asked struct{}

func (Asked) step(l Life) (Life, []Effect) { return l, nil }

// Retried says that this while is over.
type Retried struct{}

func (Retried) step(l Life) (Life, []Effect) {
	l.Later = false
	return l, nil
}

// In memory.

// Over says that the instruction that ran has ended. Hold says that a checkpoint begins at once,
// before the next may begin.
type Over struct{ Hold bool }

func (ev Over) step(l Life) (Life, []Effect) {
	l = l.over()
	if l.State == machine.Running { // else it is on its way to the disk
		l.State, l.Holding = machine.Idle, l.Holding || ev.Hold
	}
	return l, nil
}

// StaleOver says that the instruction of the past has stopped.
type StaleOver struct{}

func (StaleOver) step(l Life) (Life, []Effect) {
	l.Stale = None
	return l, nil
}

// Held says that a checkpoint begins to be made of a machine that stays in memory.
type Held struct{}

func (Held) step(l Life) (Life, []Effect) {
	l.Holding = true
	return l, nil
}

// Released says that the machine goes on beside its checkpoint.
type Released struct{}

func (Released) step(l Life) (Life, []Effect) {
	l.Holding = false
	return l, nil
}

// Out of memory.

// Resumed says that a person wants what they paused to go on.
type Resumed struct{}

func (Resumed) step(l Life) (Life, []Effect) {
	l.Paused = false
	return l, nil
}

// PutToSleep says that a person puts the machine to sleep. What runs waits for a person, too.
type PutToSleep struct{}

func (PutToSleep) step(l Life) (Life, []Effect) {
	l.Paused = l.Run != None
	return l, nil
}

// Leaving says that the machine stands still, to leave memory.
type Leaving struct{}

func (Leaving) step(l Life) (Life, []Effect) {
	l.State = machine.Swapping
	return l, nil
}

// Stays says that it could not be saved, and goes on in memory.
type Stays struct{}

func (Stays) step(l Life) (Life, []Effect) {
	l.Paused = false
	if l.Run == None {
		l.State = machine.Idle
		return l, nil
	}
	l.State = machine.Running
	if l.Interrupt {
		return l.stop(ByPerson)
	}
	return l, []Effect{Plan{}}
}

// Died says that the sandbox has ended. The machine stays as it is until it is known what becomes
// of it.
type Died struct{}

func (Died) step(l Life) (Life, []Effect) {
	l.Alive = false
	return l, nil
}

// SetBack says that the machine is at an earlier state, or at the middle of what ran. GoesOn says
// that what ran goes on there; else it is over. Again is an instruction that had not begun and
// waits once more; None for none.
type SetBack struct {
	GoesOn bool
	Again  int
}

func (ev SetBack) step(l Life) (Life, []Effect) {
	if !ev.GoesOn {
		l = l.over()
	}
	if ev.Again != None {
		l.Queue = slices.Insert(slices.Clone(l.Queue), 0, ev.Again)
	}
	return l, nil
}

// Asleep says that the machine has left memory, and that what it is now is on record. Later says
// that it is left alone for a while: its memory ran short.
type Asleep struct{ Later bool }

func (ev Asleep) step(l Life) (Life, []Effect) {
	l = l.asleep()
	l.Later = ev.Later
	return l, nil
}

// Rewound says that the machine was returned to an earlier state, and is on the disk. What waited
// is over. Stays says that what ran is over in that state, and its end is told when the machine is
// awake.
type Rewound struct{ Stays bool }

func (ev Rewound) step(l Life) (Life, []Effect) {
	l = l.asleep()
	l.Queue, l.Interrupt, l.Later = nil, false, false
	if !ev.Stays {
		l = l.over()
	}
	return l, nil
}

// Binned says that the machine lies in the bin. What ran and what waited is over.
type Binned struct{}

func (Binned) step(l Life) (Life, []Effect) {
	l = l.over()
	l.State, l.Queue, l.Later = machine.Deleted, nil, false
	return l, nil
}

// Restored says that it was taken out of the bin.
type Restored struct{}

func (Restored) step(l Life) (Life, []Effect) {
	l.State = machine.Swapped
	return l, nil
}

// Purged says that nothing is left of the machine on record.
type Purged struct{}

func (Purged) step(l Life) (Life, []Effect) {
	l = l.over()
	l.Gone, l.Queue, l.Later = true, nil, false
	return l, nil
}
