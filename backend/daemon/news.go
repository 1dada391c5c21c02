package daemon

import (
	"sync"

	"github.com/forevervm/desktop/backend/machine"
)

// news are what a place tells of itself.
type news struct {
	mu     sync.Mutex
	listen func(machine.EngineNews)
	now    *machine.Preparation
}

// Notify is machine.Notifier's.
func (n *news) Notify(listen func(machine.EngineNews)) {
	n.mu.Lock()
	n.listen = listen
	now := n.now
	n.mu.Unlock()
	listen(machine.EngineNews{Busy: now})
}

// tell says what is done with the place; nil for nothing any more.
func (n *news) tell(busy *machine.Preparation) {
	n.mu.Lock()
	n.now = busy
	listen := n.listen
	n.mu.Unlock()
	if listen != nil {
		listen(machine.EngineNews{Busy: busy})
	}
}

// isBusy says whether something is done with the place.
func (n *news) isBusy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now != nil
}
