package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// floor is how many bytes of the computer's memory have to stay free.
func (s *Service) floor() int64 { return s.set.Load().floor(s.totalMemory) }

// low is how many bytes have to stay free even where nobody wants to come in.
func (s *Service) low() int64 { return cmp.Or(s.set.Load().MinFreeMemory, admission.LowWater) }

// room looks how much there is, and how many machines each client has in memory; ok is false where
// there is no telling, and so no limit.
func (s *Service) room() (r admission.Room, clients map[string]int, ok bool) {
	r = admission.Room{Free: -1, Floor: s.floor(), Most: s.set.Load().MaxInMemory}
	if s.freeMemory != nil {
		if free, err := s.freeMemory(); err == nil {
			r.Free, ok = free, true
		}
	}
	if !ok && r.Most == 0 {
		return r, nil, false
	}
	if !ok {
		r.Free, r.Floor = 1<<62, 0
	}
	clients = map[string]int{}
	for _, e := range s.entries() {
		o := e.lock()
		if o.life.State.InMemory() && !s.isAway(e.engine()) {
			r.Others++
			clients[o.rec.Client.Name]++
			took := int64(0)
			if o.stats != nil {
				took = o.stats.MemoryBytes
			}
			r.Used += took
			if o.sess != nil { // who is not ready yet is counted by the queue
				r.Entering += max(0, o.sess.need-took)
			}
		}
		o.unlock()
	}
	return r, clients, true
}

// enterMemory waits until there is room for the machine; see admission.Queue.Enter.
func (e *entry) enterMemory(ctx context.Context, patience time.Duration, wanted func() bool) (leave func(), err error) {
	if e.s.isAway(e.engine()) {
		if !wanted() {
			return nil, nil
		}
		return func() {}, nil
	}
	o := e.lock()
	client := o.rec.Client.Name
	o.unlock()
	return e.s.enterMemory(ctx, admission.Entrant{Client: client, Need: e.takes(ctx), Wanted: wanted, Tell: e.setWaits}, patience)
}

// enterMemory is admission.Queue.Enter with errors for people.
func (s *Service) enterMemory(ctx context.Context, w admission.Entrant, patience time.Duration) (leave func(), err error) {
	leave, err = s.admission.Enter(ctx, w, patience)
	switch {
	case errors.Is(err, admission.ErrNoRoom):
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("There is no room in memory for another machine: at least %d MB of the computer's are left free. Put machines to sleep or close other programs, and try again.", s.floor()>>20)}
	case errors.Is(err, admission.ErrClosed):
		err = machine.Closing()
	}
	return leave, err
}

// makeRoom moves idle machines to the disk, least recently used first, until somebody who waits can
// come in.
func (s *Service) makeRoom() {
	if !s.makingRoom.CompareAndSwap(false, true) {
		return
	}
	s.spawn(func() {
		defer s.makingRoom.Store(false)
		for _, c := range s.idle() {
			if s.admission.Lacking() <= 0 || s.ctx.Err() != nil || time.Since(c.active) < undisturbed {
				return
			}
			s.moveOut(c.e)
			s.admission.Admit()
		}
	})
}

// waitsForRoom says why a machine does not come into memory yet.
func (s *Service) waitsForRoom() string {
	return fmt.Sprintf("This machine waits for memory: at least %d MB of the computer's are left free. It starts automatically when there is room. Put machines to sleep or close other programs to make some.", s.floor()>>20)
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
