// Package admission lets machines into memory one way only: each asks for room first, and waits
// where there is too little. It knows no machine, only what each needs and whose it is.
package admission

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// LowWater is how many bytes stay free in any case. One machine comes in as long as they do, or
	// a full computer could run nothing; and below it idle machines are moved to the disk even
	// where nobody waits.
	LowWater = 512 << 20
	// lookForRoom is how often those who wait look for room: other programs do not say when they
	// free some.
	lookForRoom = time.Second
	// turn is how long machines that need less may pass one that waits, and how long they then may
	// not, by turns. Without it, small machines could keep out a large one forever; and without an
	// end to it, a large one the small, while hours of work keep it out.
	turn = time.Minute
)

var (
	// ErrNoRoom says that patience ended before there was room.
	ErrNoRoom = errors.New("no room in memory")
	// ErrClosed says that nobody is let in any more.
	ErrClosed = errors.New("nobody is let in any more")
)

// Room is what there is to decide by whether a machine may come into memory. All but Others are
// bytes.
type Room struct {
	Free     int64 // of the computer's memory
	Floor    int64 // has to stay free
	Entering int64 // will be taken by those that are just coming in, or have yet to read most of what is theirs
	Used     int64 // by the machines in memory
	Most     int64 // that those may use; 0 for any
	Others   int   // machines in memory, or coming in
}

// Lacks is how many bytes too few there are for a machine that takes need. It may come in where
// that is 0 or less.
func (r Room) Lacks(need int64) int64 {
	floor := r.Floor
	if r.Others == 0 {
		floor = min(floor, LowWater)
	}
	lacks := floor + r.Entering + need - r.Free
	if r.Most > 0 && r.Others > 0 {
		lacks = max(lacks, r.Used+r.Entering+need-r.Most)
	}
	return lacks
}

// Entrant is a machine that is to come into memory.
type Entrant struct {
	Client string           // that used it last
	Need   int64            // bytes that it will take
	Wanted func() bool      // whether it is still to come in; asked again and again
	Tell   func(waits bool) // told when it begins and ends to wait
}

type waiter struct {
	Entrant
	since time.Time
	pass  chan struct{} // closed when it may come in
}

// holds says whether others may not pass.
func (w *waiter) holds(now time.Time) bool { return now.Sub(w.since)%(2*turn) >= turn }

// Queue lets machines in. Use NewQueue.
type Queue struct {
	look   func() (r Room, clients map[string]int, limited bool)
	short  func()
	closed <-chan struct{}

	mu       sync.Mutex // guards what follows; look is called with it held
	entering int64      // bytes that those will take that have been let in and are not ready yet
	count    int        // of them
	waiting  []*waiter  // first come first
}

// NewQueue makes a queue. look tells how much room there is and how many machines each client has
// in memory; limited is false where there is no telling, and so no limit. short is called, with a
// lock held, where somebody waits: it has room made in the background. Nobody waits any more once
// closed is.
func NewQueue(look func() (r Room, clients map[string]int, limited bool), short func(), closed <-chan struct{}) *Queue {
	return &Queue{look: look, short: short, closed: closed}
}

// Enter waits until there is room for a machine, while it is wanted. It waits for patience at most:
// 0 is not at all, a negative one forever. Call leave when the machine is in memory, or its start
// has failed. leave is nil where nobody wants the machine any more. Errors: ErrNoRoom, ErrClosed,
// ctx's.
func (q *Queue) Enter(ctx context.Context, e Entrant, patience time.Duration) (leave func(), err error) {
	w := &waiter{Entrant: e, pass: make(chan struct{}), since: time.Now()}
	q.mu.Lock()
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	q.Admit()
	leave = sync.OnceFunc(func() { q.leave(w) })
	select {
	case <-w.pass:
		return leave, nil
	default:
	}
	if patience != 0 && w.Wanted() {
		w.Tell(true)
		defer w.Tell(false)
	}
	for begun := time.Now(); w.Wanted(); q.seek(w) {
		if patience >= 0 && time.Since(begun) >= patience {
			err = ErrNoRoom
			break
		}
		select {
		case <-w.pass:
			return leave, nil
		case <-time.After(lookForRoom):
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-q.closed:
			err = ErrClosed
		}
		break
	}
	q.mu.Lock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	q.mu.Unlock()
	if at < 0 { // it may come in after all
		leave()
	}
	return nil, err
}

// leave is the end of a machine's coming in.
func (q *Queue) leave(w *waiter) {
	q.mu.Lock()
	q.entering -= w.Need
	q.count--
	q.mu.Unlock()
	q.Admit()
}

// Admit lets in whom there is room for. Machines of the clients that have fewest in memory go
// first, so that one that uses hundreds does not keep out the others. Where there is too little,
// room is made. Call it when there may be more room.
func (q *Queue) Admit() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return
	}
	r, clients, limited := q.room()
	order, now := slices.Clone(q.waiting), time.Now()
	rank := func(w *waiter) int {
		if w.holds(now) {
			return -1
		}
		return clients[w.Client]
	}
	slices.SortStableFunc(order, func(x, y *waiter) int { return cmp.Compare(rank(x), rank(y)) })
	short := false
	for _, w := range order {
		if limited && r.Lacks(w.Need) > 0 {
			short = true
			if w.holds(now) && r.Others > 0 { // alone, others would not help it
				break
			}
			continue
		}
		r.Entering += w.Need
		r.Others++
		q.entering += w.Need
		q.count++
		q.waiting = slices.DeleteFunc(q.waiting, func(o *waiter) bool { return o == w })
		close(w.pass)
	}
	if short {
		q.short()
	}
}

// room is what there is, those included who have been let in. mu is held.
func (q *Queue) room() (Room, map[string]int, bool) {
	r, clients, limited := q.look()
	r.Entering, r.Others = r.Entering+q.entering, r.Others+q.count
	return r, clients, limited
}

// seek looks for room for all who wait, if w is the first of them: each of hundreds need not.
func (q *Queue) seek(w *waiter) {
	q.mu.Lock()
	first := len(q.waiting) > 0 && q.waiting[0] == w
	q.mu.Unlock()
	if first {
		q.Admit()
	}
}

// Lacking is how many bytes too few there are for the one that others may not pass, else for the
// one that needs least; 0 or less for none.
func (q *Queue) Lacking() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, _, limited := q.room()
	if len(q.waiting) == 0 || !limited {
		return 0
	}
	next := slices.MinFunc(q.waiting, func(x, y *waiter) int { return cmp.Compare(x.Need, y.Need) })
	if at := slices.IndexFunc(q.waiting, func(w *waiter) bool { return w.holds(time.Now()) }); at >= 0 {
		next = q.waiting[at]
	}
	return r.Lacks(next.Need)
}

// Waiting is how many machines wait to come into memory.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
