package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/admission"
)

// memory is what the machines of some engines share when they come into it: this computer's, or
// that of a place elsewhere.
type memory struct {
	s     *Service
	place string // "" for this computer
	queue *admission.Queue
	// look tells how many bytes there are, and how many are free; ok is false where there is no
	// telling, and so no limit. It must be quick.
	look func() (free, total int64, ok bool)
	// ask brings up to date what look tells, which is no older than that then, and starts the place
	// if need be; nil where there is no need.
	ask     func(ctx context.Context, atMost time.Duration)
	making  atomic.Bool  // somebody is making room
	looking atomic.Int64 // bytes that are taken for a look at a copy of a machine
}

func (s *Service) newMemory(place string, look func() (free, total int64, ok bool)) *memory {
	m := &memory{s: s, place: place, look: look}
	m.queue = admission.NewQueue(m.room, m.makeRoom, s.ctx.Done())
	return m
}

// ownMemory is this computer's.
func (s *Service) ownMemory(free func() (int64, error), total int64) *memory {
	return s.newMemory("", func() (int64, int64, bool) {
		if free == nil {
			return 0, total, false
		}
		now, err := free()
		return now, total, err == nil
	})
}

const (
	// askMemoryEvery is how often a place is asked how much memory it has, while somebody wants to
	// know, and oldMemory how old its answer may be.
	askMemoryEvery = time.Second
	oldMemory      = 10 * time.Second
)

// told is what a place has said of its memory.
type told struct {
	place machine.Engine
	sized machine.Sized
	turn  chan struct{} // full while it is asked

	mu          sync.Mutex // guards what follows
	free, total int64
	at          time.Time
}

// placeMemory is that of a place. One that does not tell has no limit.
func (s *Service) placeMemory(place machine.Engine) *memory {
	sized, ok := place.(machine.Sized)
	if !ok {
		return s.newMemory(place.Name(), func() (int64, int64, bool) { return 0, 0, false })
	}
	t := &told{place: place, sized: sized, turn: make(chan struct{}, 1)}
	m := s.newMemory(place.Name(), func() (int64, int64, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		age := time.Since(t.at)
		if age > askMemoryEvery && !rests(place) {
			s.spawn(func() { t.ask(s.ctx, askMemoryEvery) }) // it may be far away
		}
		return t.free, t.total, t.total > 0 && age < oldMemory
	})
	m.ask = t.ask
	return m
}

// ask asks the place, unless its answer is no older than that. Where there is none, there is no
// limit: who wants to come in is told why that fails.
func (t *told) ask(ctx context.Context, atMost time.Duration) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-t.turn }()
	t.mu.Lock()
	age := time.Since(t.at)
	t.mu.Unlock()
	if age < atMost {
		return
	}
	free, total, err := t.sized.Memory(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		free, total = 0, 0
	}
	t.free, t.total, t.at = free, total, time.Now()
}

// memory is where the machine is when it is awake.
func (e *entry) memory() *memory { return e.s.memoryOf(e.engine()) }

// holds says whether the machine shares this memory.
func (m *memory) holds(e *entry) bool { return e.memory() == m }

// floors are how many bytes have to stay free of so many: for another machine to come in, and even
// where none wants to. A setting in bytes is of this computer.
func (m *memory) floors(total int64) (floor, low int64) {
	set := *m.s.set.Load()
	if m.place != "" {
		set.MinFreeMemory = 0
		return set.floor(total), min(admission.LowWater, total/10)
	}
	return set.floor(total), cmp.Or(set.MinFreeMemory, admission.LowWater)
}

func (m *memory) floor() int64 {
	_, total, _ := m.look()
	floor, _ := m.floors(total)
	return floor
}

// short says whether too little is left for anybody to come in.
func (m *memory) short() bool {
	free, total, ok := m.look()
	_, low := m.floors(total)
	return ok && free < low
}

// most is how many bytes all machines in it may use; 0 for any.
func (m *memory) most() int64 {
	if m.s.isNear(m.place) {
		return m.s.set.Load().MaxInMemory
	}
	return 0
}

// room looks how much there is, and how many machines each client has in memory; ok is false where
// there is no telling, and so no limit.
func (m *memory) room() (r admission.Room, clients map[string]int, ok bool) {
	free, total, ok := m.look()
	floor, _ := m.floors(total)
	r = admission.Room{Free: free, Floor: floor, Most: m.most()}
	if !ok && r.Most == 0 {
		return r, nil, false
	}
	if !ok {
		r.Free, r.Floor = 1<<62, 0
	}
	clients = map[string]int{}
	for _, e := range m.s.entries() {
		if !m.holds(e) {
			continue
		}
		o := e.lock()
		if o.life.State.InMemory() {
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

// enter is admission.Queue.Enter with errors for people.
func (m *memory) enter(ctx context.Context, w admission.Entrant, patience time.Duration) (leave func(), err error) {
	if m.ask != nil {
		m.ask(ctx, askMemoryEvery)
		if _, total, ok := m.look(); ok && w.Need > total {
			return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The machine takes %d MB of memory, and there are only %d MB there (%s). Give it more, or move the machine to another place.", w.Need>>20, total>>20, m.place)}
		}
	}
	leave, err = m.queue.Enter(ctx, w, patience)
	if left := leave; left != nil && m.ask != nil {
		leave = sync.OnceFunc(func() { // what was told before knows nothing of the machine
			ctx, cancel := context.WithTimeout(m.s.ctx, oldMemory)
			defer cancel()
			m.ask(ctx, 0)
			left()
		})
	}
	switch {
	case errors.Is(err, admission.ErrNoRoom):
		err = &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("There is no room in memory for another machine: %s. %s, and try again.", m.left(), m.freeSome())}
	case errors.Is(err, admission.ErrClosed):
		err = machine.Closing()
	}
	return leave, err
}

// left says what machines leave to others.
func (m *memory) left() string {
	if m.place == "" {
		return fmt.Sprintf("at least %d MB of the computer's are left free", m.floor()>>20)
	}
	return fmt.Sprintf("at least %d MB of the memory there (%s) are left free", m.floor()>>20, m.place)
}

// freeSome says what helps.
func (m *memory) freeSome() string {
	if m.place == "" {
		return "Put machines to sleep or close other programs"
	}
	return "Put machines to sleep"
}

// waits says why a machine does not come into memory yet.
func (m *memory) waits() string {
	return fmt.Sprintf("This machine waits for memory: %s. It starts automatically when there is room. %s to make some.", m.left(), m.freeSome())
}

// makeRoom moves idle machines to the disk, least recently used first, until somebody who waits can
// come in.
func (m *memory) makeRoom() {
	if !m.making.CompareAndSwap(false, true) {
		return
	}
	m.s.spawn(func() {
		defer m.making.Store(false)
		for _, c := range m.idle() {
			if m.queue.Lacking() <= 0 || m.s.ctx.Err() != nil || time.Since(c.active) < undisturbed {
				return
			}
			m.s.moveOut(c.e)
			m.queue.Admit()
		}
	})
}

// idler is an idle machine in memory.
type idler struct {
	e      *entry
	active time.Time
	bytes  int64
}

// idle lists the idle machines in memory, least recently used first.
func (m *memory) idle() (idle []idler) {
	for _, e := range m.s.entries() {
		if !m.holds(e) {
			continue
		}
		o := e.lock()
		if x := o.sess; o.life.State == machine.Idle && len(o.life.Queue) == 0 && x != nil {
			i := idler{e: e, active: later(o.rec.LastActiveAt, x.used)}
			if o.stats != nil {
				i.bytes = o.stats.MemoryBytes
			}
			idle = append(idle, i)
		}
		o.unlock()
	}
	slices.SortFunc(idle, func(a, b idler) int { return a.active.Compare(b.active) })
	return idle
}

// relieve frees memory by moving idle machines to the disk, least recently used first. Below the
// floor those go that have rested for a while, as machines grow after they came in; where there is
// nearly none left, all. It says whether that is so.
func (m *memory) relieve() (low bool) {
	excess, above := int64(0), int64(0) // above the floor; what rests goes for that
	if most := m.most(); most > 0 {
		total := m.looking.Load()
		for _, e := range m.s.entries() {
			if now := e.Machine(); now.Memory != nil && m.holds(e) {
				total += now.Memory.MemoryBytes
			}
		}
		excess = total - most
	}
	if free, total, ok := m.look(); ok {
		floor, least := m.floors(total)
		low = free < least
		excess, above = max(excess, least-free), floor-free
	}
	if excess <= 0 && above <= 0 {
		return low
	}
	for _, i := range m.idle() {
		if time.Since(i.active) < rested {
			above = 0
		}
		if excess <= 0 && above <= 0 || m.s.ctx.Err() != nil {
			break
		}
		if i.bytes > 0 && m.s.moveOut(i.e) {
			excess, above = excess-i.bytes, above-i.bytes
		}
	}
	return low
}

// relieve frees memory everywhere; see memory.relieve. A place without a machine in memory is not
// asked.
func (s *Service) relieve() {
	low := s.own.relieve()
	s.health.mu.Lock()
	s.health.memoryLow = low
	s.health.mu.Unlock()
	for _, m := range s.placeMemories() {
		if slices.ContainsFunc(s.entries(), func(e *entry) bool { return m.holds(e) && e.Machine().State.InMemory() }) {
			m.relieve()
		}
	}
}
