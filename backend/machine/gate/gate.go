// Package gate bounds how many do something at once.
package gate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Gate lets a number of callers do something at once. More would only take the processors from each
// other. Urgent ones go first, so that a thousand new machines do not hold up one that somebody
// uses.
type Gate struct {
	size int

	mu      sync.Mutex // guards what follows
	free    int
	waiting []*waiter // first come first
	last    time.Time // when somebody left
}

type waiter struct {
	urgent func() bool   // must not block for long
	pass   chan struct{} // closed when it may go
}

// New makes a gate that n may be within at once.
func New(n int) *Gate { return &Gate{size: n, free: n} }

// Enter waits for a place, which leave gives back.
func (g *Gate) Enter(ctx context.Context, urgent func() bool) error {
	w := &waiter{urgent: urgent, pass: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	g.admit()
	g.mu.Unlock()
	select {
	case <-w.pass:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	at := slices.Index(g.waiting, w)
	if at >= 0 {
		g.waiting = slices.Delete(g.waiting, at, at+1)
	}
	g.mu.Unlock()
	if at < 0 { // it may go after all
		g.Leave()
	}
	return ctx.Err()
}

// Leave gives a place back.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free++
	g.last = time.Now()
	g.admit()
}

// Quiet is for how long nobody has been within; 0 while somebody is.
func (g *Gate) Quiet() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free < g.size {
		return 0
	}
	return time.Since(g.last)
}

// admit lets in as many as there is room for. mu is held.
func (g *Gate) admit() {
	for g.free > 0 && len(g.waiting) > 0 {
		at := max(0, slices.IndexFunc(g.waiting, func(w *waiter) bool { return w.urgent() }))
		w := g.waiting[at]
		g.waiting = slices.Delete(g.waiting, at, at+1)
		g.free--
		close(w.pass)
	}
}
