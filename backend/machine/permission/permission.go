// Package permission has a person allow or deny what AI apps want to do. It restrains nothing: an
// app's tools ask here first. Nothing is stored, as no app waits longer than the daemon runs.
package permission

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// holds is how long a permission waits for an answer, and an answer for its app, after the app
	// has last asked. Apps give up a call after a minute; people may be away for longer.
	holds = 10 * time.Minute
	// mostWaiting is how many wait at once: nobody reads dozens of questions.
	mostWaiting = 5
	// mostNew is how many new ones there may be within a minute. An app that hears no must not ask
	// until it hears yes, under whatever name.
	mostNew = 10
)

// Requests are the permissions that wait. All methods may be called from any goroutine.
type Requests struct {
	tell func(machine.Permission)

	mu   sync.Mutex // guards what follows
	last int64
	all  []*request
	new  []time.Time // when the latest came, oldest first
}

// request is one permission, until its app has the answer or nobody waits for it any more.
type request struct {
	machine.Permission
	answered chan struct{} // closed with the answer
	expiry   *time.Timer
}

// New makes Requests. tell is called with each permission that is new or changed, in order; it must
// not block.
func New(tell func(machine.Permission)) *Requests {
	return &Requests{tell: tell}
}

// Ask waits for a person's answer until ctx ends, and returns how the permission stands then. An
// app that asks for the same again waits for the same answer, and gets one that came meanwhile. An
// answer counts once.
func (r *Requests) Ask(ctx context.Context, p machine.Permission) (machine.Permission, error) {
	if err := p.Check(); err != nil {
		return machine.Permission{}, err
	}
	asked, err := r.find(p)
	if err != nil {
		return machine.Permission{}, err
	}
	select {
	case <-asked.answered:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if asked.State != machine.PermissionWaiting {
		r.remove(asked)
	}
	return asked.Permission, nil
}

// find returns the request for a permission, which may be new.
func (r *Requests) find(p machine.Permission) (*request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := 0
	for _, known := range r.all {
		same := known.Permission
		same.ID, same.State, same.Steps = 0, "", p.Steps
		if p.ID, p.State = 0, ""; same == p {
			known.expiry.Reset(holds)
			return known, nil
		}
		if known.State == machine.PermissionWaiting {
			waiting++
		}
	}
	if waiting >= mostWaiting {
		return nil, machine.Conflict("%d other questions wait for a person's answer. Ask again when they are answered.", mostWaiting)
	}
	now := time.Now()
	r.new = slices.DeleteFunc(r.new, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(r.new) >= mostNew {
		return nil, machine.Conflict("A person was asked %d times within a minute. Ask again in a minute.", mostNew)
	}
	r.new = append(r.new, now)
	r.last++
	p.ID, p.State = r.last, machine.PermissionWaiting
	asked := &request{Permission: p, answered: make(chan struct{})}
	asked.expiry = time.AfterFunc(holds, func() { r.expire(asked) })
	r.all = append(r.all, asked)
	r.tell(asked.Permission)
	return asked, nil
}

// Waiting are the permissions that no one has answered, oldest first.
func (r *Requests) Waiting() []machine.Permission {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := []machine.Permission{}
	for _, asked := range r.all {
		if asked.State == machine.PermissionWaiting {
			waiting = append(waiting, asked.Permission)
		}
	}
	return waiting
}

// Answer allows or denies a permission that waits. Else it returns a Conflict.
func (r *Requests) Answer(id int64, allow bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, asked := range r.all {
		if asked.ID == id && asked.State == machine.PermissionWaiting {
			state := machine.PermissionDenied
			if allow {
				state = machine.PermissionAllowed
			}
			r.end(asked, state)
			return nil
		}
	}
	return machine.Conflict("That question does not wait for an answer any more.")
}

// expire ends a request for which nobody has waited for long.
func (r *Requests) expire(asked *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if asked.State == machine.PermissionWaiting {
		r.end(asked, machine.PermissionExpired)
	}
	r.remove(asked)
}

// end is called with mu held.
func (r *Requests) end(asked *request, state machine.PermissionState) {
	asked.State = state
	close(asked.answered)
	r.tell(asked.Permission)
}

// remove is called with mu held.
func (r *Requests) remove(asked *request) {
	asked.expiry.Stop()
	r.all = slices.DeleteFunc(r.all, func(other *request) bool { return other == asked })
}
