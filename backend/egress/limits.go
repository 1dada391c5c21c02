package egress

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Limits bound what one machine may do; zero fields mean the default.
type Limits struct {
	AtOnce    int   // connections at the same time; default 64
	PerSecond int   // new connections a second, for long; default 20. Ten times as many may come in one go
	PerDay    int64 // bytes both ways, in a day; default 50 GiB
}

func (l Limits) withDefaults() Limits {
	l.AtOnce = cmp.Or(l.AtOnce, 64)
	l.PerSecond = cmp.Or(l.PerSecond, 20)
	l.PerDay = cmp.Or(l.PerDay, 50<<30)
	return l
}

// burst is how many seconds' worth of connections may come in one go.
const burst = 10

// turnPatience is how long a connection waits for its turn, where too many come.
const turnPatience = 20 * time.Second

// ledger counts what machines do.
type ledger struct {
	limits Limits

	mu       sync.Mutex // guards what follows
	accounts map[machine.ID]*account
}

type account struct {
	open int
	// next is when the connection after all those that were let through would be due, were they
	// spread evenly.
	next  time.Time
	day   time.Time // when moved began to be counted
	moved int64
}

// of is a machine's account. mu is held.
func (l *ledger) of(id machine.ID) *account {
	if l.accounts == nil {
		l.accounts = map[machine.ID]*account{}
	}
	a := l.accounts[id]
	if a == nil {
		a = &account{day: time.Now()}
		l.accounts[id] = a
	}
	if time.Since(a.day) >= 24*time.Hour {
		a.day, a.moved = time.Now(), 0
	}
	return a
}

// enter takes one of the places for connections at the same time.
func (l *ledger) enter(id machine.ID) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(id)
	if a.open >= l.limits.AtOnce {
		return nil, false
	}
	a.open++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.open--
	}, true
}

// wait waits for the turn of one more connection, and says whether it came.
func (l *ledger) wait(ctx context.Context, id machine.ID) bool {
	l.mu.Lock()
	step := time.Second / time.Duration(l.limits.PerSecond)
	a, now := l.of(id), time.Now()
	if earliest := now.Add(-burst * time.Second); a.next.Before(earliest) {
		a.next = earliest
	}
	due := a.next.Add(step)
	if due.Sub(now) > turnPatience {
		l.mu.Unlock()
		return false
	}
	a.next = due
	l.mu.Unlock()
	if !due.After(now) {
		return true
	}
	timer := time.NewTimer(due.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// move counts bytes, and says whether the machine may go on.
func (l *ledger) move(id machine.ID, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(id)
	a.moved += int64(n)
	return a.moved <= l.limits.PerDay
}

// spent says whether a machine has moved as much as it may.
func (l *ledger) spent(id machine.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(id).moved >= l.limits.PerDay
}
