package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Machines come into memory one way only: each asks for room first, and waits where there is too little.

const (
	// minFreeShare is how much of the computer's memory stays free for other programs, in percent. Below that computers begin to swap.
	minFreeShare = 15
	// lowWater is how many bytes stay free in any case. One machine comes in as long as they do, or a full computer could run nothing; and below it
	// idle machines are moved to the disk even where nobody waits.
	lowWater = 512 << 20
	// newcomer is what a machine takes at least, in bytes: one from the template takes 93 MB.
	newcomer = 100 << 20
	// lookForRoom is how often those who wait look for room: other programs do not say when they free some.
	lookForRoom = time.Second
	// undisturbed is how long a machine is left in memory after its last work while another waits: its next instruction may be on its way.
	undisturbed = 2 * time.Second
	// roomPatience bounds how long a caller waits who is not told of the wait otherwise. Instructions wait as long as it takes.
	roomPatience = 30 * time.Second
	// turn is how long machines that need less may pass one that waits, and how long they then may not, by turns. Without it, small machines could keep
	// out a large one for ever; and without an end to it, a large one the small, while hours of work keep it out.
	turn = time.Minute
	// roomBriefly is how long one waits who keeps others from the machine meanwhile.
	roomBriefly = 5 * time.Second
)

// room is what there is to decide by whether a machine may come into memory. All but others are bytes.
type room struct {
	free     int64 // of the computer's memory
	floor    int64 // has to stay free
	entering int64 // will be taken by those that are just coming in, or have yet to read most of what is theirs
	used     int64 // by the machines in memory
	most     int64 // that those may use; 0 for any
	others   int   // machines in memory, or coming in
}

// lacks is how many bytes too few there are for a machine that takes need. It may come in where that is 0 or less.
func (r room) lacks(need int64) int64 {
	floor := r.floor
	if r.others == 0 {
		floor = min(floor, lowWater)
	}
	lacks := floor + r.entering + need - r.free
	if r.most > 0 && r.others > 0 {
		lacks = max(lacks, r.used+r.entering+need-r.most)
	}
	return lacks
}

// admission lets machines into memory.
type admission struct {
	making atomic.Bool // somebody is making room

	mu       sync.Mutex // guards what follows; an entry's mu may be taken while it is held, not the other way round
	entering int64      // bytes that those will take that have been let in and are not ready yet
	count    int        // of them
	waiting  []*entrant // first come first
}

// entrant is a machine that is to come into memory.
type entrant struct {
	client string // that used it last
	need   int64  // bytes
	since  time.Time
	pass   chan struct{} // closed when it may come in
}

// holds says whether others may not pass.
func (w *entrant) holds(now time.Time) bool { return now.Sub(w.since)%(2*turn) >= turn }

// floor is how many bytes of a computer's memory, which has total, have to stay free where there are
// other machines in memory. 0 is for a total that is not known.
func (s Settings) floor(total int64) int64 {
	switch {
	case s.MinFreeMemory > 0:
		return s.MinFreeMemory
	case total > 0:
		return total * int64(cmp.Or(s.MinFreeShare, minFreeShare)) / 100
	}
	return lowWater
}

// floor is how many bytes of the computer's memory have to stay free.
func (s *Service) floor() int64 { return s.set.Load().floor(s.totalMemory) }

// low is how many bytes have to stay free even where nobody wants to come in.
func (s *Service) low() int64 { return cmp.Or(s.set.Load().MinFreeMemory, lowWater) }

// room looks how much there is, and how many machines each client has in memory; ok is false where there is no telling, and so no limit.
func (s *Service) room() (r room, clients map[string]int, ok bool) {
	r = room{free: -1, floor: s.floor(), most: s.set.Load().MaxInMemory}
	if s.freeMemory != nil {
		if free, err := s.freeMemory(); err == nil {
			r.free, ok = free, true
		}
	}
	if !ok && r.most == 0 {
		return r, nil, false
	}
	if !ok {
		r.free, r.floor = 1<<62, 0
	}
	clients = map[string]int{}
	for _, e := range s.entries() {
		e.mu.Lock()
		if e.state.InMemory() {
			r.others++
			clients[e.rec.Client.Name]++
			took := int64(0)
			if e.stats != nil {
				took = e.stats.MemoryBytes
			}
			r.used += took
			if e.sess != nil { // who is not ready yet is counted by admit
				r.entering += max(0, e.sess.need-took)
			}
		}
		e.mu.Unlock()
	}
	return r, clients, true
}

// enterMemory waits until there is room for the machine; see Service.enterMemory. mu is not held.
func (e *entry) enterMemory(ctx context.Context, patience time.Duration, wanted func() bool) (leave func(), err error) {
	e.mu.Lock()
	client := e.rec.Client.Name
	e.mu.Unlock()
	return e.s.enterMemory(ctx, &entrant{client: client, need: e.takes(ctx)}, patience, wanted, e.setWaits)
}

// enterMemory waits until there is room for a machine, while it is wanted, and for patience at most; 0 is not at all, a negative one for ever. tell is
// told when it begins and ends to wait. leave is to be called when the machine is in memory, or is not to be; it is nil where the machine is not wanted
// any more.
func (s *Service) enterMemory(ctx context.Context, w *entrant, patience time.Duration, wanted func() bool, tell func(waits bool)) (leave func(), err error) {
	a := &s.admission
	w.pass, w.since = make(chan struct{}), time.Now()
	a.mu.Lock()
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	s.admit()
	leave = sync.OnceFunc(func() { s.leaveEntrance(w) })
	select {
	case <-w.pass:
		return leave, nil
	default:
	}
	if patience != 0 && wanted() {
		tell(true)
		defer tell(false)
	}
	for begun := time.Now(); wanted(); s.seekRoom(w) {
		if patience >= 0 && time.Since(begun) >= patience {
			err = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("There is no room in memory for another machine: at least %d MB of the computer's are left free. Put machines to sleep or close other programs, and try again.", s.floor()>>20)}
			break
		}
		select {
		case <-w.pass:
			return leave, nil
		case <-time.After(lookForRoom):
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-s.ctx.Done():
			err = machine.Closing()
		}
		break
	}
	a.mu.Lock()
	at := slices.Index(a.waiting, w)
	if at >= 0 {
		a.waiting = slices.Delete(a.waiting, at, at+1)
	}
	a.mu.Unlock()
	if at < 0 { // it may come in after all
		leave()
	}
	return nil, err
}

// leaveEntrance is the end of a machine's coming in.
func (s *Service) leaveEntrance(w *entrant) {
	a := &s.admission
	a.mu.Lock()
	a.entering -= w.need
	a.count--
	a.mu.Unlock()
	s.admit()
}

// admit lets in whom there is room for. Machines of the clients that have fewest in memory go first, so that one that uses hundreds does not keep out
// the others. Where there is too little, room is made.
func (s *Service) admit() {
	a := &s.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return
	}
	r, clients, limited := s.room()
	r.entering, r.others = r.entering+a.entering, r.others+a.count
	order, now := slices.Clone(a.waiting), time.Now()
	rank := func(w *entrant) int {
		if w.holds(now) {
			return -1
		}
		return clients[w.client]
	}
	slices.SortStableFunc(order, func(x, y *entrant) int { return cmp.Compare(rank(x), rank(y)) })
	short := false
	for _, w := range order {
		if limited && r.lacks(w.need) > 0 {
			short = true
			if w.holds(now) && r.others > 0 { // alone, others would not help it
				break
			}
			continue
		}
		r.entering += w.need
		r.others++
		a.entering += w.need
		a.count++
		a.waiting = slices.DeleteFunc(a.waiting, func(o *entrant) bool { return o == w })
		close(w.pass)
	}
	if short {
		s.makeRoom()
	}
}

// seekRoom looks for room for all who wait, if w is the first of them: each of hundreds need not.
func (s *Service) seekRoom(w *entrant) {
	s.admission.mu.Lock()
	first := len(s.admission.waiting) > 0 && s.admission.waiting[0] == w
	s.admission.mu.Unlock()
	if first {
		s.admit()
	}
}

// lacking is how many bytes too few there are for the one that others may not pass, else for the one that needs least; 0 or less for none.
func (s *Service) lacking() int64 {
	a := &s.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	r, _, limited := s.room()
	if len(a.waiting) == 0 || !limited {
		return 0
	}
	r.entering, r.others = r.entering+a.entering, r.others+a.count
	next := slices.MinFunc(a.waiting, func(x, y *entrant) int { return cmp.Compare(x.need, y.need) })
	if at := slices.IndexFunc(a.waiting, func(w *entrant) bool { return w.holds(time.Now()) }); at >= 0 {
		next = a.waiting[at]
	}
	return r.lacks(next.need)
}

// makeRoom moves idle machines to the disk, least recently used first, until somebody who waits can come in.
func (s *Service) makeRoom() {
	if !s.admission.making.CompareAndSwap(false, true) {
		return
	}
	s.spawn(func() {
		defer s.admission.making.Store(false)
		for _, c := range s.idle() {
			if s.lacking() <= 0 || s.ctx.Err() != nil || time.Since(c.active) < undisturbed {
				return
			}
			s.moveOut(c.e)
			s.admit()
		}
	})
}

// waiters is how many machines wait to come into memory.
func (s *Service) waiters() int {
	s.admission.mu.Lock()
	defer s.admission.mu.Unlock()
	return len(s.admission.waiting)
}

// waitsForRoom says why a machine does not come into memory yet.
func (s *Service) waitsForRoom() string {
	return fmt.Sprintf("This machine waits for memory: at least %d MB of the computer's are left free. It starts by itself when there is room. Put machines to sleep or close other programs to make some.", s.floor()>>20)
}

// takes is how many bytes the machine will take in memory: what it took when it was saved last. mu is not held.
func (e *entry) takes(ctx context.Context) int64 {
	e.mu.Lock()
	base := e.rec.Base
	e.mu.Unlock()
	c, err := e.checkpointOrTemplate(ctx, base)
	if err != nil {
		return newcomer
	}
	return willTake(c)
}

// willTake is how many bytes of memory a machine will take that is brought up from the checkpoint.
func willTake(c machine.CheckpointRecord) int64 { return max(newcomer, c.Whole) }

// setWaits notes whether the machine waits to come into memory, and tells. mu is not held.
func (e *entry) setWaits(waits bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waits = waits
	e.publish()
	e.s.poke()
}

// cold says whether the machine is on the disk. mu is not held.
func (e *entry) cold() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == machine.Swapped && !e.gone
}

// hasWork says whether the machine is on the disk and something waits for it. mu is not held.
func (e *entry) hasWork() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state == machine.Swapped && !e.gone && !e.paused && (e.run != nil || len(e.queue) > 0)
}
