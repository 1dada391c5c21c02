// Package events passes what happens on to those who watch, and keeps the latest for those who come
// back.
package events

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	maxRingEvents = 4096
	maxRingBytes  = 8 << 20
	// maxBehind and maxBehindBytes are how far behind a subscriber may be.
	maxBehind      = 1024
	maxBehindBytes = 8 << 20
	// maxReady is how many events lie ready for a subscriber to take at once.
	maxReady = 8
	// maxEventText is the longest form of something rich that an event brings along; of others it
	// tells the size.
	maxEventText = 256 << 10
)

// Hub passes events to subscribers and keeps the latest for those who come back. Its memory is
// bounded: by the ring, and by dropping subscribers that do not keep up. Both are weighed, not only
// counted.
type Hub struct {
	epoch string         // other in every run of the daemon, so that old positions are known to be old
	group sync.WaitGroup // the goroutines of the subscribers

	mu     sync.Mutex      // guards what follows
	last   uint64          // number of the latest event
	ring   []machine.Event // the latest, in order, without gaps
	bytes  int
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct {
	events chan machine.Event // closed by its goroutine
	more   chan struct{}      // full when there is something in the queue
	over   chan struct{}      // closed when it is dropped

	// Guarded by the hub's mu.
	queue []machine.Event
	ahead int // how many at the front were in the ring when it came, and are not counted
	bytes int // of those behind them
}

// New makes a hub that nobody listens to yet.
func New() *Hub {
	return &Hub{epoch: string(machine.NewID()), subs: map[*subscriber]struct{}{}}
}

// Publish never blocks.
func (h *Hub) Publish(ev machine.Event) {
	ev.Item, ev.Instruction = slimItem(ev.Item), slimInstruction(ev.Instruction)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.last++
	ev.ID = fmt.Sprintf("%s-%d", h.epoch, h.last)
	h.ring = append(h.ring, ev)
	h.bytes += Weight(ev)
	drop := 0
	for drop < len(h.ring)-1 && (len(h.ring)-drop > maxRingEvents || h.bytes > maxRingBytes) {
		h.bytes -= Weight(h.ring[drop])
		h.ring[drop] = machine.Event{}
		drop++
	}
	h.ring = h.ring[drop:]
	for s := range h.subs {
		s.queue = append(s.queue, ev)
		s.bytes += Weight(ev)
		if behind := len(s.queue) - s.ahead; behind > maxBehind || behind > 1 && s.bytes > maxBehindBytes {
			h.drop(s)
		}
		s.wake()
	}
}

func (s *subscriber) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// drop is called with mu held.
func (h *Hub) drop(s *subscriber) {
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		close(s.over)
		s.queue = nil
	}
}

// Subscribe delivers the events after a position, until ctx ends or the subscriber does not keep
// up. Where the position is not known, the first is an EventReset.
func (h *Hub) Subscribe(ctx context.Context, after string) <-chan machine.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &subscriber{events: make(chan machine.Event, maxReady), more: make(chan struct{}, 1), over: make(chan struct{})}
	if h.closed {
		close(s.events)
		return s.events
	}
	missed, known := h.since(after)
	if !known {
		s.queue = append(s.queue, machine.Event{ID: fmt.Sprintf("%s-%d", h.epoch, h.last), Type: machine.EventReset})
	}
	s.queue = append(s.queue, missed...)
	s.ahead = len(s.queue)
	s.wake()
	h.subs[s] = struct{}{}
	h.group.Go(func() { h.deliver(ctx, s) })
	return s.events
}

// deliver passes events on until the subscriber leaves or is dropped.
func (h *Hub) deliver(ctx context.Context, s *subscriber) {
	defer close(s.events)
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(s)
	}()
	for {
		select {
		case <-s.more:
		case <-s.over:
			return
		case <-ctx.Done():
			return
		}
		for {
			ev, ok := h.next(s)
			if !ok {
				break
			}
			select {
			case s.events <- ev:
			case <-s.over:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// next takes the first event from a subscriber's queue.
func (h *Hub) next(s *subscriber) (machine.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(s.queue) == 0 {
		return machine.Event{}, false
	}
	ev := s.queue[0]
	s.queue[0] = machine.Event{}
	s.queue = s.queue[1:]
	if s.ahead > 0 {
		s.ahead--
	} else {
		s.bytes -= Weight(ev)
	}
	return ev, true
}

// since returns the events after a position, and whether the position is known. It is called with
// mu held.
func (h *Hub) since(after string) ([]machine.Event, bool) {
	if after == "" {
		return nil, true
	}
	epoch, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	first := h.last - uint64(len(h.ring)) // the position before the ring's first event
	if err != nil || epoch != h.epoch || n > h.last || n < first {
		return nil, false
	}
	return h.ring[n-first:], true
}

// Watched says whether anybody listens.
func (h *Hub) Watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) > 0
}

// Close ends every subscription and waits for their goroutines.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for s := range h.subs {
		h.drop(s)
	}
	h.ring = nil
	h.mu.Unlock()
	h.group.Wait()
}

// Weight is roughly how many bytes an event keeps alive.
func Weight(e machine.Event) int {
	n := 512
	if e.Item != nil {
		n += e.Item.Bytes()
	}
	if in := e.Instruction; in != nil {
		n += len(in.Code) + len(in.Error) + len(in.ErrorANSI)
		if in.Value != nil {
			n += len(*in.Value)
		}
		for _, r := range in.Data {
			n += len(r.Data)
		}
	}
	return n
}

// slimItem is the item as events tell it: see Representation.
func slimItem(it *machine.Item) *machine.Item {
	if it == nil || len(it.Representations) == 0 {
		return it
	}
	c := *it
	c.Representations = slim(c.Representations)
	return &c
}

// slimInstruction is the instruction as events tell it.
func slimInstruction(in *machine.Instruction) *machine.Instruction {
	if in == nil || len(in.Data) == 0 {
		return in
	}
	c := *in
	c.Data = slim(c.Data)
	return &c
}

func slim(forms []machine.Representation) []machine.Representation {
	forms = slices.Clone(forms)
	for i := range forms {
		if f := &forms[i]; !f.IsText() || len(f.Data) > maxEventText {
			f.Omitted, f.Data = f.Size(), nil
		}
	}
	return forms
}
