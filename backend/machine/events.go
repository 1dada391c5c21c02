package machine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

const (
	maxRingEvents   = 4096
	maxRingBytes    = 8 << 20
	subscriberSlack = 1024 // events that a subscriber may be behind
)

// hub passes events to subscribers and keeps the latest for those who come back. Its memory is bounded: by the ring, and
// by dropping subscribers that do not keep up.
type hub struct {
	epoch string // other in every run of the daemon, so that old positions are known to be old

	mu     sync.Mutex // guards what follows
	last   uint64     // number of the latest event
	ring   []Event    // the latest, in order, without gaps
	bytes  int
	subs   map[*subscriber]struct{}
	closed bool
}

type subscriber struct {
	events chan Event
	stop   func() bool // ends the watch over the subscriber's context
}

func newHub() *hub {
	return &hub{epoch: strconv.FormatUint(randomBits(), 36), subs: map[*subscriber]struct{}{}}
}

// publish never blocks.
func (h *hub) publish(ev Event) {
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
		select {
		case s.events <- ev:
		default:
			h.remove(s)
		}
	}
}

// remove is called with mu held.
func (h *hub) remove(s *subscriber) {
	if _, ok := h.subs[s]; !ok {
		return
	}
	delete(h.subs, s)
	if s.stop != nil {
		s.stop()
	}
	close(s.events)
}

func (h *hub) subscribe(ctx context.Context, after string) <-chan Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	missed, known := h.since(after)
	s := &subscriber{events: make(chan Event, len(missed)+subscriberSlack+1)}
	if h.closed || ctx.Err() != nil {
		close(s.events)
		return s.events
	}
	if !known {
		s.events <- Event{ID: fmt.Sprintf("%s-%d", h.epoch, h.last), Type: EventReset}
	}
	for _, ev := range missed {
		s.events <- ev
	}
	h.subs[s] = struct{}{}
	s.stop = context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.remove(s)
	})
	return s.events
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

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subs {
		h.remove(s)
	}
	h.ring = nil
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
