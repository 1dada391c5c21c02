package life

// Effect is something that the service has to do now.
type Effect interface{ effect() }

// Begin records the first of the queue as the one that runs, and says Begun. Where the record
// cannot be written, it waits.
type Begin struct{ Seq int }

// Wake brings the machine into memory for its work. It may be on its way already. A daemon that
// ends leaves it to the next.
type Wake struct{}

// Hand gives an instruction to the sandbox.
type Hand struct{ Seq int }

// GoOn takes up the instruction that ran when the machine left memory. HandOver says that the
// runner never got it.
type GoOn struct {
	Seq      int
	HandOver bool
}

// Insist interrupts the instruction that runs until it is over, and ends the sandbox where it will
// not be.
type Insist struct{ Why Stop }

// InsistPast does so with one that is over on record.
type InsistPast struct{ Seq int }

// TakeBack takes instructions that are over on record out of the runner's own queue.
type TakeBack struct{ Seqs []int }

// Rest plans when the idle machine is saved, and when it leaves memory.
type Rest struct{}

// Plan plans when the busy machine is saved.
type Plan struct{}

func (Begin) effect()      {}
func (Wake) effect()       {}
func (Hand) effect()       {}
func (GoOn) effect()       {}
func (Insist) effect()     {}
func (InsistPast) effect() {}
func (TakeBack) effect()   {}
func (Rest) effect()       {}
func (Plan) effect()       {}
