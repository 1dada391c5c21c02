package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// session is one stay of a machine in memory. Its fields belong to who owns the machine, where
// nothing else is said.
type session struct {
	e       *entry
	box     machine.Sandbox
	since   time.Time
	stored  chan struct{} // closed when the sandbox has ended and everything it said is stored
	cleared chan struct{} // closed when the machine has let go of the session

	used time.Time // when somebody last looked into the machine, or it came to rest

	forsaken bool // the machine is being removed: nothing is stored any more
	killed   *end // why we ended it, when it was us
	saved    *machine.CheckpointInfo
	version  int // counts what may have changed the machine's state
	clean    int // the version that Base holds

	handed int           // the instruction that was given to the sandbox last; -1 for none
	over   chan struct{} // closed when run is over; nil while nothing runs
	past   chan struct{} // closed when the instruction of the past is over; nil where none is being stopped

	restored int // the last instruction in the checkpoint that it came from; -1 for none
	heard    int // the last one up to there whose end was told in this stay; -1 for none

	memoryMB int   // the limit that the sandbox has
	need     int64 // bytes of memory that it was expected to take

	weighed   int       // the version when its disk was last looked at
	weighedAt time.Time // and when that was
	savedAt   time.Time // when it was saved last, or else came into memory

	unsaved   life.Unsaved
	notBefore time.Time // no automatic save begins before

	saving bool      // the sandbox is being saved, and stands still
	frozen time.Time // since when
	saves  int       // counts them

	held map[int]int // while a checkpoint is made: by instruction, the highest index whose acknowledgement is held back

	filling context.CancelFunc // ends the filling of the inbox, while the running instruction waits for it; else nil

	late lateBudget // for output that comes while nothing runs

	limit, again, autosave, autoswap, overdue, shed *alarm

	look    *alarm        // looks at the shared folder; nil while none is due
	looked  time.Duration // how long that took the last time
	looking sync.Mutex    // held during a look

	lastCommit time.Time // the pump's own
}

// end says why and how a session was ended by us.
type end struct {
	name   string // ErrorName for the running instruction
	reason string // "because …"
}

// alive says whether the session can be worked with.
func (x *session) alive(o owned) bool { return x != nil && o.sess == x && o.life.Alive }

// died notes that the sandbox has ended; reap or the one who ended it cleans up.
func (x *session) died(o owned) {
	x.quiet(o)
	if o.sess == x {
		o.on(life.Died{})
	}
}

// closedChan is ready at once.
var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// usableOrCleared is ready when the session can be worked with or is no more.
func (x *session) usableOrCleared() <-chan struct{} {
	o := x.e.lock()
	defer o.unlock()
	if x.alive(o) {
		return closedChan
	}
	return x.cleared
}

// clear lets go of the session; its sandbox has ended.
func (o owned) clear() {
	x := o.sess
	x.quiet(o)
	if x.over != nil {
		close(x.over)
		x.over = nil
	}
	if x.past != nil {
		close(x.past)
		x.past = nil
	}
	o.sess, o.stats, o.hungry, o.recent = nil, nil, false, nil
	close(x.cleared)
}

// busy ends what was planned for an idle machine.
func (x *session) busy(o owned) {
	x.version++
	x.unsaved.Begin(time.Now())
	x.over = make(chan struct{})
	x.autosave.stop()
	x.autoswap.stop()
	x.autosave, x.autoswap = nil, nil
	x.plan(o)
}

// use notes that somebody looks into the machine now.
func (x *session) use() {
	o := x.e.lock()
	defer o.unlock()
	x.used = time.Now()
}

// rest plans what happens to an idle machine.
func (x *session) rest(o owned) {
	x.used = time.Now()
	x.autosave.stop()
	x.autoswap.stop()
	x.overdue.stop()
	e, s := o.entry, o.s
	x.autosave, x.autoswap, x.overdue = nil, nil, nil
	if !x.alive(o) {
		return
	}
	if set := s.set.Load(); x.version != x.clean && set.CheckpointEvery >= 0 {
		at := later(time.Now().Add(set.CheckpointAfterIdle), x.soonest(o))
		if due := x.due(o); !due.IsZero() && due.Before(at) { // what only looks at the machine puts the save off, too, but not forever
			at = due
		}
		x.autosave = s.after(max(0, time.Until(at)), func() { e.autoSave(x) })
	}
	x.autoswap = s.after(s.set.Load().IdleSwap, func() { e.autoSwap(x) })
}

// quiet stops every timer, when the session ends.
func (x *session) quiet(o owned) {
	for _, a := range []*alarm{x.limit, x.again, x.autosave, x.autoswap, x.overdue, x.shed, x.look} {
		a.stop()
	}
	x.limit, x.again, x.autosave, x.autoswap, x.overdue, x.shed, x.look = nil, nil, nil, nil, nil, nil, nil
}

// handTimeout is how long a supervisor may take to accept an order before it counts as broken.
const handTimeout = 30 * time.Second

// order gives the sandbox one. A machine that stands still to be saved takes it when that is over,
// so until then it is given again: a repeat does nothing.
func (x *session) order(give func(context.Context) error) error {
	for {
		stood := x.watchStill()
		ctx, cancel := context.WithTimeout(x.e.s.ctx, handTimeout)
		err := give(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !stood() {
			return err
		}
	}
}

// hand gives an instruction to the sandbox, without waiting for it.
func (x *session) hand(o owned, seq int, code string, formats []string) {
	x.handed = seq
	fill := x.fill(o, seq, code)
	o.s.spawn(func() {
		fill()
		err := x.order(func(ctx context.Context) error { return x.box.Execute(ctx, seq, code, formats) })
		if err == nil || x.e.s.ctx.Err() != nil || errors.Is(err, machine.ErrConflict) { // the sandbox is ending, and reap tells why
			return
		}
		x.e.log().Error("an instruction could not be handed over", "seq", seq, "err", err)
		x.kill(&end{errNameStopped, "its sandbox did not accept the step"})
	})
}

// takeBack takes instructions out of the sandbox's own queue, one after another.
func (x *session) takeBack(seqs []int) {
	for _, seq := range seqs {
		if err := x.order(func(ctx context.Context) error { return x.box.Cancel(ctx, seq) }); err != nil {
			if x.e.s.ctx.Err() == nil {
				x.e.log().Warn("an instruction of the past could not be taken back, nor any after it", "seq", seq, "err", err)
			}
			break
		}
	}
	o := x.e.lock()
	defer o.unlock()
	x.touch(o) // what was saved before holds them
	if o.sess == x && o.life.State == machine.Idle {
		x.rest(o)
	}
}

// kill ends the sandbox without saving it; what follows is reap's.
func (x *session) kill(why *end) {
	o := x.e.lock()
	if x.killed == nil {
		x.killed = why
	}
	o.unlock()
	x.box.Kill()
}

// watchTimeout stops the running instruction when its time is up, counting only its own running
// time.
func (x *session) watchTimeout(o owned) {
	x.limit.stop()
	x.limit = nil
	in := o.run
	if in == nil || in.Timeout <= 0 || in.ResumedAt == nil || x.filling != nil {
		return
	}
	seq := in.Seq
	x.limit = o.s.after(max(0, in.Timeout-in.Ran-time.Since(*in.ResumedAt)), func() {
		o := x.e.lock()
		defer o.unlock()
		if o.sess == x && !x.saving && o.run != nil && o.run.Seq == seq {
			o.on(life.TimedOut{Seq: seq})
		}
	})
}

// freeze notes that a save begins: the machine stands still, and so does the time of what runs in
// it.
func (x *session) freeze(o owned) {
	x.saving, x.frozen = true, time.Now()
	x.savedAt = x.frozen
	x.saves++
	x.limit.stop()
	x.limit = nil
}

// thaw is the end of a save after which the machine goes on.
func (x *session) thaw(o owned) {
	x.saving = false
	if !x.alive(o) {
		return
	}
	if o.run != nil && o.run.ResumedAt != nil && x.over != nil {
		run := *o.run
		from := run.ResumedAt.Add(time.Since(later(x.frozen, *run.ResumedAt)))
		run.ResumedAt = &from
		o.run = &run
		x.watchTimeout(o)
	}
}

// watchStill begins to watch whether the machine stands still to be saved; stood says whether it
// has since, or does.
func (x *session) watchStill() (stood func() bool) {
	o := x.e.lock()
	defer o.unlock()
	saves, saving := x.saves, x.saving
	return func() bool {
		o := x.e.lock()
		defer o.unlock()
		return saving || x.saving || x.saves != saves
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stopRun interrupts the running instruction, harder each time, and ends the sandbox when the grace
// is over.
func (x *session) stopRun(o owned, why life.Stop) {
	if x.filling != nil {
		x.filling()
	}
	seq := o.run.Seq
	over := x.over
	why2 := &end{errNameInterrupt, fmt.Sprintf("step %d did not stop when it was interrupted", seq+1)}
	if why == life.ByTimeout {
		why2 = &end{errNameTimeout, fmt.Sprintf("step %d ran out of time and did not stop when it was interrupted", seq+1)}
	}
	o.s.spawn(func() { x.insist(seq, over, why2) })
}

// insist repeats an interrupt until the instruction is over, and ends the sandbox when it will not
// be. The grace counts from the first interrupt that got there, and not while the machine stands
// still to be saved.
func (x *session) insist(seq int, over <-chan struct{}, why *end) {
	grace, patience := x.e.s.set.Load().InterruptGrace, handTimeout
	again := time.NewTicker(max(grace/5, time.Millisecond))
	defer again.Stop()
	for grace > 0 && patience > 0 {
		start, stood := time.Now(), x.watchStill()
		ctx, cancel := context.WithTimeout(x.e.s.ctx, handTimeout)
		err := x.box.Interrupt(ctx, seq)
		cancel()
		select {
		case <-again.C:
		case <-over:
			return
		case <-x.box.Ended():
			return
		case <-x.e.s.ctx.Done():
			return
		}
		switch {
		case stood():
		case err != nil:
			x.e.log().Warn("an interrupt failed", "seq", seq, "err", err)
			patience -= time.Since(start)
		default:
			grace -= time.Since(start)
		}
	}
	x.kill(why)
}
