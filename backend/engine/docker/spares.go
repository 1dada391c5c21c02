package docker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// sparePatience bounds the making of a spare.
const sparePatience = time.Minute

// spareID stands for the machine of a container that is nobody's yet. It is no machine's id.
const spareID machine.ID = "spare-"

// sparePath is where a spare waits in its container. It moves up when it is claimed.
const sparePath = machinePath + "/spare"

// spares keeps one container that was made ahead, in which a sandbox waits for the next machine
// that comes into memory: making both is most of what that takes. It holds nothing of anybody's.
type spares struct {
	e     *Engine
	ahead local.Ahead

	mu     sync.Mutex // guards what follows
	next   *spare     // nil for none
	making *making    // nil for none
	retire *time.Timer
	closed bool
}

// kind is what a spare must have in common with the machine that it is for.
type kind struct {
	daemon *daemon
	image  string // the container's
}

type spare struct {
	*Sandbox
	kind kind
}

// making is a spare that is not there yet.
type making struct {
	kind    kind
	done    chan struct{}
	awaited bool // somebody waits for it already
}

// take returns a spare of that kind, waiting for one that is just being made; nil where there is
// none.
func (s *spares) take(ctx context.Context, k kind) *Sandbox {
	for {
		s.mu.Lock()
		next, making := s.next, s.making
		if next != nil {
			s.next = nil
			s.mu.Unlock()
			if next.kind == k && next.attached.alive() {
				return next.Sandbox
			}
			next.discard()
			return nil
		}
		if making == nil || making.awaited || making.kind != k {
			s.mu.Unlock()
			return nil
		}
		making.awaited = true
		s.mu.Unlock()
		select {
		case <-making.done:
		case <-ctx.Done():
			return nil
		}
	}
}

// refill has a spare made in the background, unless there is one, and puts off its end. memory is
// what the next machine is likely to have.
func (s *spares) refill(k kind, p local.Parts, memory int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.ahead.Useful() {
		return
	}
	if s.retire != nil {
		s.retire.Stop()
	}
	s.retire = time.AfterFunc(local.KeepAhead, s.drop)
	if s.making != nil || s.next != nil && s.next.kind == k {
		return
	}
	s.dropLocked()
	m := &making{kind: k, done: make(chan struct{})}
	s.making = m
	s.e.running.Go(func() {
		defer close(m.done)
		ctx, cancel := context.WithTimeout(context.Background(), sparePatience)
		defer cancel()
		made, err := s.e.makeSpare(ctx, k, p, memory)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.making = nil
		switch {
		case err != nil:
			s.e.cfg.Log.Warn("no container can be made ahead", "error", err)
		case s.closed:
			made.discard()
		default:
			s.next = made
		}
	})
}

// makeSpare makes a container with a sandbox that waits.
func (e *Engine) makeSpare(ctx context.Context, k kind, p local.Parts, memory int64) (*spare, error) {
	found, err := e.template(ctx, k.daemon, p)
	if err != nil {
		return nil, err
	}
	template, err := e.templateVolume(ctx, k.daemon, p, found)
	if err != nil {
		return nil, err
	}
	b := e.sandbox(k.daemon, stay{id: spareID, parts: p, memory: memory, template: template})
	if err = b.create(ctx, k.image); err == nil {
		err = b.attach(ctx)
	}
	if err != nil {
		b.remove()
		return nil, e.failed(k.daemon, "A container could not be made ahead", err)
	}
	return &spare{b, k}, nil
}

// claim makes a spare the machine's whose stay it is. Its name in Docker says whose it is from then
// on, as its labels cannot be changed.
func (b *Sandbox) claim(ctx context.Context, s stay) error {
	made := b.stay
	if s.restore == "" && s.template != made.template {
		return errors.New("it is of another template")
	}
	b.is(s)
	var all sync.WaitGroup
	var renamed, carried, limited error
	all.Go(func() {
		quick, cancel := context.WithTimeout(ctx, apiPatience)
		defer cancel()
		renamed = b.d.api.ContainerRename(quick, b.container, b.stay.containerName())
	})
	if s.restore != "" {
		all.Go(func() { carried = b.e.carryIn(ctx, b.d, b.container, s.restore) })
	}
	if s.memory != made.memory {
		all.Go(func() { limited = b.limit(ctx, s.memory) })
	}
	all.Wait()
	if err := errors.Join(renamed, carried, limited); err != nil {
		return err
	}
	return json.NewEncoder(b.attached).Encode(sandbox.Claim{Machine: machinePath, Restore: b.stay.restorePath()})
}

// limit sets the container's limit of memory to what a machine with a limit of so many bytes needs.
func (b *Sandbox) limit(ctx context.Context, memory int64) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	host := &container.HostConfig{Resources: limited(container.Resources{}, sandbox.HardLimit(memory))}
	b.d.trying.Lock()
	for _, r := range b.d.lacking {
		r.give(host)
	}
	b.d.trying.Unlock()
	_, err := b.d.api.ContainerUpdate(ctx, b.container, container.UpdateConfig{Resources: host.Resources})
	return err
}

// drop ends the spare that nobody wants.
func (s *spares) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked()
}

func (s *spares) dropLocked() {
	if s.next == nil {
		return
	}
	s.next.discard()
	s.next = nil
}

// failed notes that a spare was of no use.
func (s *spares) failed() {
	if !s.ahead.Failed() {
		s.drop()
	}
}

// discard removes a spare, in the background.
func (b *Sandbox) discard() {
	b.e.running.Go(func() {
		_ = b.attached.Close()
		b.remove()
	})
}

func (s *spares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.retire != nil {
		s.retire.Stop()
	}
	s.dropLocked()
}
