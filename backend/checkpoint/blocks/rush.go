package blocks

import (
	"context"
	"sync"
	"time"
)

// standBack is how long Put and Verify wait for somebody who is in a rush, before they go on with
// the next MiB all the same: 94 MiB then take a quarter of a minute, however many others there are.
const standBack = 150 * time.Millisecond

// rush counts those who are waited for.
type rush struct {
	mu   sync.Mutex
	n    int
	over chan struct{} // closed when nobody is any more; nil while nobody is
}

// Rush says that a person, or a machine that stands still, waits for this computer: until done is
// called, once, Put and Verify stand back for a while. That a thread is nice is not enough, where
// the system shares the processors among groups of processes first.
func (s *Store) Rush() (done func()) {
	r := &s.rush
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n++; r.n == 1 {
		r.over = make(chan struct{})
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.n--; r.n == 0 {
			close(r.over)
			r.over = nil
		}
	}
}

// wait stands back.
func (r *rush) wait(ctx context.Context) {
	r.mu.Lock()
	over := r.over
	r.mu.Unlock()
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-time.After(standBack):
	case <-ctx.Done():
	}
}
