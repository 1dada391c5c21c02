//go:build linux

package sandbox

import (
	"context"
	"sync"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

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

// pass sends them until ctx ends.
func (a *acks) pass(ctx context.Context, to *runner) {
	for {
		select {
		case <-a.some:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		pending := a.pending
		a.pending = map[int]int{}
		a.mu.Unlock()
		for seq, index := range pending {
			if to.tell(ctx, protocol.Request{Type: protocol.TypeAck, Seq: seq, Index: index}, nil) != nil {
				return
			}
		}
	}
}
