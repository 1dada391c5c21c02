package machine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	maxRingEvents = 4096
	maxRingBytes  = 8 << 20
	// maxBehind and maxBehindBytes are how far behind a subscriber may be.
	maxBehind      = 1024
	maxBehindBytes = 8 << 20
	// maxReady is how many events lie ready for a subscriber to take at once.
	maxReady = 8
	// maxEventText is the longest form of something rich that an event brings along; of others it tells the size.
	maxEventText = 256 << 10
)

// hub passes events to subscribers and keeps the latest for those who come back. Its memory is bounded: by the ring, and
// by dropping subscribers that do not keep up. Both are weighed, not only counted.
type hub struct {
	epoch string         // other in every run of the daemon, so that old positions are known to be old
	group sync.WaitGroup // the goroutines of the subscribers

	mu     sync.Mutex // guards what follows
	last   uint64     // number of the latest event
	ring   []Event    // the latest, in order, without gaps
	bytes  int
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct {
	events chan Event    // closed by its goroutine
	more   chan struct{} // full when there is something in the queue
	over   chan struct{} // closed when it is dropped

	// Guarded by the hub's mu.
	queue []Event
	ahead int // how many at the front were in the ring when it came, and are not counted
	bytes int // of those behind them
}

func newHub() *hub {
	return &hub{epoch: strconv.FormatUint(randomBits(), 36), subs: map[*subscriber]struct{}{}}
}

// Announce tells subscribers of something that happened to a machine that is not this service's own. It never blocks.
func (s *Service) Announce(ev Event) { s.hub.publish(ev) }

// publish never blocks.
func (h *hub) publish(ev Event) {
	ev.Item, ev.Instruction = ev.Item.slim(), ev.Instruction.slim()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.last++
	ev.ID = fmt.Sprintf("%s-%d", h.epoch, h.last)
	h.ring = append(h.ring, ev)
	h.bytes += ev.weight()
	drop := 0
	for drop < len(h.ring)-1 && (len(h.ring)-drop > maxRingEvents || h.bytes > maxRingBytes) {
		h.bytes -= h.ring[drop].weight()
		h.ring[drop] = Event{}
		drop++
	}
	h.ring = h.ring[drop:]
	for s := range h.subs {
		s.queue = append(s.queue, ev)
		s.bytes += ev.weight()
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
func (h *hub) drop(s *subscriber) {
	if _, ok := h.subs[s]; ok {
		delete(h.subs, s)
		close(s.over)
		s.queue = nil
	}
}

func (h *hub) subscribe(ctx context.Context, after string) <-chan Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &subscriber{events: make(chan Event, maxReady), more: make(chan struct{}, 1), over: make(chan struct{})}
	if h.closed {
		close(s.events)
		return s.events
	}
	missed, known := h.since(after)
	if !known {
		s.queue = append(s.queue, Event{ID: fmt.Sprintf("%s-%d", h.epoch, h.last), Type: EventReset})
	}
	s.queue = append(s.queue, missed...)
	s.ahead = len(s.queue)
	s.wake()
	h.subs[s] = struct{}{}
	h.group.Go(func() { h.deliver(ctx, s) })
	return s.events
}

// deliver passes events on until the subscriber leaves or is dropped.
func (h *hub) deliver(ctx context.Context, s *subscriber) {
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
func (h *hub) next(s *subscriber) (Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(s.queue) == 0 {
		return Event{}, false
	}
	ev := s.queue[0]
	s.queue[0] = Event{}
	s.queue = s.queue[1:]
	if s.ahead > 0 {
		s.ahead--
	} else {
		s.bytes -= ev.weight()
	}
	return ev, true
}

// since returns the events after a position, and whether the position is known. It is called with mu held.
func (h *hub) since(after string) ([]Event, bool) {
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

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs) > 0
}

// close ends every subscription and waits for their goroutines.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for s := range h.subs {
		h.drop(s)
	}
	h.ring = nil
	h.mu.Unlock()
	h.group.Wait()
}

// weight is roughly how many bytes an event keeps alive.
func (e *Event) weight() int {
	n := 512
	if e.Item != nil {
		s := sizeOf(e.Item)
		n += int(s.text + s.display)
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

// slim is the item as events tell it: see Representation.
func (it *Item) slim() *Item {
	if it == nil || len(it.Representations) == 0 {
		return it
	}
	c := *it
	c.Representations = slim(c.Representations)
	return &c
}

// slim is the instruction as events tell it.
func (in *Instruction) slim() *Instruction {
	if in == nil || len(in.Data) == 0 {
		return in
	}
	c := *in
	c.Data = slim(c.Data)
	return &c
}

func slim(forms []Representation) []Representation {
	forms = slices.Clone(forms)
	for i := range forms {
		if f := &forms[i]; !f.IsText() || len(f.Data) > maxEventText {
			f.Omitted, f.Data = f.Size(), nil
		}
	}
	return forms
}
