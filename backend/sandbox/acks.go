//go:build linux

package sandbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// acksRest is how long acknowledgements are gathered. They are in no hurry, since the runner may keep megabytes, and each wakes it while an
// instruction begins or ends.
const acksRest = 5 * time.Millisecond

// acksPause is how long acknowledgements wait that the runner did not take.
const acksPause = 50 * time.Millisecond

// acks passes acknowledgements on to the runner. They are as many as frames, so of those that wait for a runner that is
// slow to read, only the last of each instruction is kept.
type acks struct {
	mu      sync.Mutex
	pending map[int]int // index by seq
	some    chan struct{}
}

func newAcks() *acks {
	return &acks{pending: map[int]int{}, some: make(chan struct{}, 1)}
}

func (a *acks) add(seq, index int) {
	a.mu.Lock()
	a.pending[seq] = max(a.pending[seq], index)
	a.mu.Unlock()
	select {
	case a.some <- struct{}{}:
	default:
	}
}

// pass sends them until ctx or the runner ends. Without them the runner stops reading output, so what is refused is tried again.
func (a *acks) pass(ctx context.Context, to *runner) {
	for {
		select {
		case <-a.some:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(acksRest):
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		pending := a.pending
		a.pending = map[int]int{}
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
