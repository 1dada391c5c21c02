package carry

import (
	"context"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// Claims are the machines that somebody here is busy with, most of them in memory. The zero value
// is ready to use.
type Claims struct {
	mu   sync.Mutex
	busy map[machine.ID]chan struct{} // closed when nobody is busy with the machine any more
}

// Claim waits until nobody is busy with the machine, and claims it until release is called.
func (c *Claims) Claim(ctx context.Context, id machine.ID) (release func(), err error) {
	for {
		release, busy := c.Try(id)
		if release != nil {
			return release, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, StillSaved(ctx.Err())
		}
	}
}

// Try is Claim, unless somebody is busy with the machine: then it returns a channel that is closed
// when he is not any more.
func (c *Claims) Try(id machine.ID) (release func(), busy <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if busy, ok := c.busy[id]; ok {
		return nil, busy
	}
	if c.busy == nil {
		c.busy = map[machine.ID]chan struct{}{}
	}
	done := make(chan struct{})
	c.busy[id] = done
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, id)
		close(done)
	}, nil
}

// StillSaved is the error of who has waited long enough for a machine's last stay to end.
func StillSaved(err error) error {
	return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is still being saved. Try again in a moment.", Cause: err}
}
