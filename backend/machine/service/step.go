package service

import (
	"fmt"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// on tells life what has happened to the machine, and carries out what follows. mu is held. What has to survive the daemon is on
// record before.
func (e *entry) on(ev life.Event) {
	next, effects, err := e.life.Step(ev)
	if err != nil {
		e.log().Error("an event came that cannot happen now", "err", err)
		return
	}
	moved := next.State != e.life.State
	e.life = next
	if moved {
		e.publish()
	}
	for _, effect := range effects {
		e.carryOut(effect)
	}
}

// carryOut does what life says. mu is held.
func (e *entry) carryOut(effect life.Effect) {
	x := e.sess
	switch f := effect.(type) {
	case life.Begin:
		e.begin(f.Seq)
	case life.Wake:
		e.rouseSoon()
	case life.Hand:
		x.takeUp(true)
	case life.GoOn:
		x.takeUp(f.HandOver)
	case life.Insist:
		x.stopRun(f.Why)
	case life.InsistPast:
		x.stopPast(f.Seq)
	case life.TakeBack:
		e.s.spawn(func() { x.takeBack(f.Seqs) })
	case life.Rest:
		x.rest()
	case life.Plan:
		x.plan()
	}
}

// rouseSoon brings the machine into memory for its work, unless that is under way. mu is held.
func (e *entry) rouseSoon() {
	if e.s.isClosing() { // the next daemon goes on with it
		return
	}
	e.wanted.Store(true)
	if e.life.State == machine.Swapped && !e.rousing {
		e.rousing = true
		e.s.spawn(e.rouse)
	}
}

// takeUp begins with the instruction that runs; hand gives it to the sandbox. mu is held.
func (x *session) takeUp(hand bool) {
	run := x.e.run
	x.busy()
	x.e.publishInstruction(&run.Instruction)
	x.watchTimeout()
	if hand {
		x.hand(run.Seq, run.Code, run.Formats)
	}
}

// stopPast stops an instruction that is over on record. mu is held.
func (x *session) stopPast(seq int) {
	x.touch()
	past := make(chan struct{})
	x.past = past
	x.e.s.spawn(func() {
		x.insist(seq, past, &end{errNameStopped, fmt.Sprintf("instruction %d, which ran when the checkpoint was made, did not stop", seq)})
	})
}
