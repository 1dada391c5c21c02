package service

import (
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// on tells life what has happened to the machine, and carries out what follows. What has to survive
// the daemon is on record before.
func (o owned) on(ev life.Event) {
	next, effects, err := o.life.Step(ev)
	if err != nil {
		o.log().Error("an event came that cannot happen now", "err", err)
		return
	}
	moved := next.State != o.life.State
	o.life = next
	if moved {
		o.publish()
	}
	for _, effect := range effects {
		o.carryOut(effect)
	}
}

// carryOut does what life says.
func (o owned) carryOut(effect life.Effect) {
	x := o.sess
	switch f := effect.(type) {
	case life.Begin:
		o.begin(f.Seq)
	case life.Wake:
		o.rouseSoon()
	case life.Hand:
		x.takeUp(o, true)
	case life.GoOn:
		x.takeUp(o, f.HandOver)
	case life.Insist:
		x.stopRun(o, f.Why)
	case life.InsistPast:
		x.stopPast(o, f.Seq)
	case life.TakeBack:
		o.s.spawn(func() { x.takeBack(f.Seqs) })
	case life.Rest:
		x.rest(o)
	case life.Plan:
		x.plan(o)
	}
}

// rouseSoon brings the machine into memory for its work, unless that is under way.
func (o owned) rouseSoon() {
	if o.s.isClosing() { // the next daemon goes on with it
		return
	}
	o.wanted.Store(true)
	if o.life.State == machine.Swapped && !o.rousing {
		o.rousing = true
		o.s.spawn(o.rouse)
	}
}

// takeUp begins with the instruction that runs; hand gives it to the sandbox.
func (x *session) takeUp(o owned, hand bool) {
	run := o.run
	x.busy(o)
	o.publishInstruction(&run.Instruction)
	x.watchTimeout(o)
	if hand {
		x.hand(o, run.Seq, run.Code, run.Formats)
	}
}

// stopPast stops an instruction that is over on record.
func (x *session) stopPast(o owned, seq int) {
	x.touch(o)
	past := make(chan struct{})
	x.past = past
	o.s.spawn(func() {
		x.insist(seq, past, &end{errNameStopped, fmt.Sprintf("step %d, which ran when the checkpoint was made, did not stop", seq+1)})
	})
}
