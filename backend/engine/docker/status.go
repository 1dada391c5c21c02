package docker

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// news is what the engine tells of itself to who listens.
type news struct {
	mu     sync.Mutex
	now    machine.EngineNews
	listen func(machine.EngineNews) // nil for nobody
	told   time.Time
}

// newsEvery is how often progress is told at most.
const newsEvery = 250 * time.Millisecond

var (
	_ machine.Notifier = (*Engine)(nil)
	_ machine.Starter  = (*Engine)(nil)
)

// Notify has listen called with the engine's news, now and whenever there are some. It must be
// quick.
func (e *Engine) Notify(listen func(machine.EngineNews)) {
	e.news.mu.Lock()
	defer e.news.mu.Unlock()
	e.news.listen = listen
	e.news.tell()
}

// tell is called with mu held.
func (n *news) tell() {
	n.told = time.Now()
	if n.listen != nil {
		n.listen(n.now)
	}
}

// note sets what else there is to know.
func (n *news) note(notes []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(notes, n.now.Notes) {
		n.now.Notes = notes
		n.tell()
	}
}

// busy tells how far something that takes long has come; nil for nothing.
func (n *news) busy(p *machine.Preparation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.now.Busy
	begun := (was == nil) != (p == nil) || was != nil && was.What != p.What
	n.now.Busy = p
	if begun || time.Since(n.told) >= newsEvery {
		n.tell()
	}
}

// counted tells of the bytes that are read through it.
type counted struct {
	io.Reader
	news *news
	what string
	done int64
	of   int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done += int64(n)
	c.news.busy(&machine.Preparation{What: c.what, Done: min(c.done, c.of), Total: c.of})
	return n, err
}
