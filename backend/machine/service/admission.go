package service

import (
	"cmp"
	"context"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/admission"
)

// Machines come into memory one way only: each asks for room first, and waits where there is too
// little.

const (
	// minFreeShare is how much of the computer's memory stays free for other programs, in percent.
	// Below that computers begin to swap.
	minFreeShare = 15
	// newcomer is what a machine takes at least, in bytes: one from the template takes 93 MB.
	newcomer = 100 << 20
	// undisturbed is how long a machine is left in memory after its last work while another waits:
	// its next instruction may be on its way.
	undisturbed = 2 * time.Second
	// roomPatience bounds how long a caller waits who is not told of the wait otherwise.
	// Instructions wait as long as it takes.
	roomPatience = 30 * time.Second
	// roomBriefly is how long one waits who keeps others from the machine meanwhile.
	roomBriefly = 5 * time.Second
)

// floor is how many bytes of a computer's memory, which has total, have to stay free where there
// are other machines in memory. 0 is for a total that is not known.
func (s Settings) floor(total int64) int64 {
	switch {
	case s.MinFreeMemory > 0:
		return s.MinFreeMemory
	case total > 0:
		return total * int64(cmp.Or(s.MinFreeShare, minFreeShare)) / 100
	}
	return admission.LowWater
}

// enterMemory waits until there is room for the machine; see admission.Queue.Enter.
func (e *entry) enterMemory(ctx context.Context, patience time.Duration, wanted func() bool) (leave func(), err error) {
	o := e.lock()
	client := o.rec.Client.Name
	o.unlock()
	return e.memory().enter(ctx, admission.Entrant{Client: client, Need: e.takes(ctx), Wanted: wanted, Tell: e.setWaits}, patience)
}

// takes is how many bytes the machine will take in memory: what it took when it was saved last.
func (e *entry) takes(ctx context.Context) int64 {
	o := e.lock()
	base := o.rec.Base
	o.unlock()
	c, err := e.checkpointOrTemplate(ctx, base)
	if err != nil {
		return newcomer
	}
	return willTake(c)
}

// willTake is how many bytes of memory a machine will take that is brought up from the checkpoint.
func willTake(c machine.CheckpointRecord) int64 { return max(newcomer, c.Whole) }

// setWaits notes whether the machine waits to come into memory, and tells.
func (e *entry) setWaits(waits bool) {
	o := e.lock()
	defer o.unlock()
	o.waits = waits
	o.publish()
	e.s.poke()
}

// cold says whether the machine is on the disk.
func (e *entry) cold() bool {
	o := e.lock()
	defer o.unlock()
	return o.life.State == machine.Swapped && !o.life.Gone
}

// hasWork says whether the machine is on the disk and something waits for it.
func (e *entry) hasWork() bool {
	o := e.lock()
	defer o.unlock()
	return o.life.State == machine.Swapped && o.life.Wants()
}
