package kubernetes

import (
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// news is what the engine tells of itself to who listens.
type news struct {
	mu     sync.Mutex
	now    machine.EngineNews
	listen func(machine.EngineNews) // nil for nobody
}

var _ machine.Notifier = (*Engine)(nil)

// Notify has listen called with the engine's news, now and whenever there are some. It must be
// quick.
func (e *Engine) Notify(listen func(machine.EngineNews)) {
	e.news.mu.Lock()
	defer e.news.mu.Unlock()
	e.news.listen = listen
	listen(e.news.now)
}

// busy tells what the cluster is waited for; nil for nothing.
func (n *news) busy(p *machine.Preparation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p == nil && n.now.Busy == nil || p != nil && n.now.Busy != nil && p.What == n.now.Busy.What {
		return
	}
	n.now.Busy = p
	if n.listen != nil {
		n.listen(n.now)
	}
}
