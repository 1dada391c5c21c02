//go:build linux

package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// acksRest is how long acknowledgements are gathered, unless they are for acksMany frames before.
// They are in no hurry, since the runner may keep megabytes, and each wakes it, usually in the
// middle of the next short instruction. A frame of output is 64 KiB at most.
const (
	acksRest = 25 * time.Millisecond
	acksMany = 16
)

// acksPause is how long acknowledgements wait that the runner did not take.
const acksPause = 50 * time.Millisecond

// acks passes acknowledgements on to the runner. They are as many as frames, so of those that wait
// for a runner that is slow to read, only the last of each instruction is kept.
type acks struct {
	mu         sync.Mutex
	pending    map[int]int // index by seq
	frames     int         // for how many frames they are
	seq, index int         // the latest
	some, many chan struct{}
}

func newAcks() *acks {
	return &acks{pending: map[int]int{}, seq: -1, some: make(chan struct{}, 1), many: make(chan struct{}, 1)}
}

func (a *acks) add(seq, index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if seq != a.seq {
		a.seq, a.index = seq, -1
	}
	if index > a.index {
		a.frames += index - a.index
		a.index = index
	}
	a.pending[seq] = max(a.pending[seq], index)
	notify(a.some)
	if a.frames >= acksMany {
		notify(a.many)
	}
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pass sends them until ctx or the runner ends. Without them the runner stops reading output, so
// what is refused is tried again.
func (a *acks) pass(ctx context.Context, to *runner) {
	for {
		select {
		case <-a.some:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(acksRest):
		case <-a.many:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		pending := a.pending
		a.pending, a.frames = map[int]int{}, 0
		a.mu.Unlock()
		refused := false
		for seq, index := range pending {
			err := to.tell(ctx, protocol.Request{Type: protocol.TypeAck, Seq: seq, Index: index}, nil)
			if errors.Is(err, errEnded) {
				return
			}
			if err != nil {
				a.add(seq, index)
				refused = true
			}
		}
		if refused {
			select {
			case <-time.After(acksPause):
			case <-ctx.Done():
				return
			}
		}
	}
}
