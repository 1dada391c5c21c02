package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// Start brings a machine into memory at the place. A pipe that breaks meanwhile is opened once
// more.
func (p *Place) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	unused := p.use() // before there is a pipe, which could be closed again at once
	var box *sandbox
	err := p.over(ctx, true, func(c *connection) (err error) {
		box, err = p.start(ctx, c, spec, unused)
		return err
	})
	if err != nil {
		unused()
		return nil, err
	}
	return box, nil
}

// start is Start over one pipe. It calls ended when the sandbox has ended, if it returns one.
func (p *Place) start(ctx context.Context, c *connection, spec machine.StartSpec, ended func()) (_ *sandbox, err error) {
	s := &starting{c: c, spec: spec, supervisors: map[int]*supervisor{}, done: make(chan answer, 1), over: make(chan struct{}), attempts: make(chan int)}
	// The talk lasts as long as the sandbox, and ctx only until that is in memory.
	whole, end := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, end)()
	s.talk, err = c.open(whole, ask{Type: askStart, Machine: spec.ID, Image: spec.Image, Checkpoint: spec.Checkpoint, MemoryMB: spec.MemoryMB})
	if err != nil {
		end()
		return nil, err
	}
	p.running.Go(func() {
		defer end()
		s.listen(whole)
	})
	box, err := s.link(ctx)
	if err != nil {
		end()
		return nil, err
	}
	p.running.Go(func() {
		<-box.Ended()
		end()
		ended()
	})
	return &sandbox{Sandbox: box, c: c, one: s.linkedTo}, nil
}

// starting is a start, and what is left of it to be done while the sandbox lives.
type starting struct {
	c    *connection
	spec machine.StartSpec
	talk *talk

	attempts chan int
	done     chan answer   // the agent's last word on the start
	over     chan struct{} // closed when it says nothing any more

	linkedTo *supervisor // whose link is open

	mu          sync.Mutex
	supervisors map[int]*supervisor
}

// supervisor is one that the agent has started.
type supervisor struct {
	gone  chan struct{} // closed when nothing is left of it, as far as can be known
	once  sync.Once
	told  atomic.Bool // the agent has said so
	helps chan string
}

// listen takes what the agent says until its end.
func (s *starting) listen(ctx context.Context) {
	defer func() {
		s.talk.end()
		close(s.over)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range s.supervisors {
			one.end()
		}
	}()
	settled := false
	for {
		a, err := s.talk.hear(ctx)
		if err != nil {
			s.finish(answer{Type: sayDone, Failure: failureOf(err)})
			return
		}
		switch a.Type {
		case sayAttempt:
			if settled || !s.add(a.Pipe) {
				s.finish(answer{Type: sayDone, Failure: failureOf(s.c.failed(ctx, errLies))})
				return
			}
			select {
			case s.attempts <- a.Pipe:
			case <-ctx.Done():
			}
		case sayDone:
			settled = true
			s.finish(a)
		case sayGone:
			if one := s.supervisor(a.Pipe); one != nil {
				one.told.Store(true)
				one.end()
			}
		case sayHelps:
			if one := s.supervisor(a.Pipe); one != nil {
				select {
				case one.helps <- plain(a.Text, maxMessage):
				default: // nobody has asked
				}
			}
		}
	}
}

func (s *starting) finish(a answer) {
	select {
	case s.done <- a:
	default: // the first one counts
	}
}

// maxAttempts bounds how often an agent may try to start one machine.
const maxAttempts = 16

func (s *starting) add(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.supervisors[number] != nil || len(s.supervisors) >= maxAttempts {
		return false
	}
	s.supervisors[number] = &supervisor{gone: make(chan struct{}), helps: make(chan string, 1)}
	return true
}

func (s *starting) supervisor(number int) *supervisor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.supervisors[number]
}

// end says that nothing is left.
func (one *supervisor) end() { one.once.Do(func() { close(one.gone) }) }

// link opens the links of supervisors that the agent starts, until it is content with one.
func (s *starting) link(ctx context.Context) (box *link.Sandbox, err error) {
	for {
		select {
		case number := <-s.attempts:
			if box != nil {
				box.Kill()
				drain(box)
				return nil, s.c.failed(ctx, errLies)
			}
			var failed error
			box, failed = s.attempt(ctx, number)
			if err := s.talk.say(ask{Type: sayLinked, Pipe: number, Failure: failureOf(failed)}); err != nil && failed != nil {
				return nil, s.apart(s.c.failed(ctx, err))
			}
		case a := <-s.done:
			if err := a.Failure.err(); err != nil || box == nil {
				if box != nil {
					box.Kill()
					drain(box)
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err == nil {
					err = s.c.failed(ctx, errLies)
				}
				return nil, s.apart(err)
			}
			return box, nil
		case <-ctx.Done():
			if box != nil {
				box.Kill()
				drain(box)
			}
			return nil, ctx.Err()
		}
	}
}

// apart adds to an error that a supervisor may have the machine, where the pipe broke meanwhile.
func (s *starting) apart(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.supervisors {
		if s.c.lost() && !one.told.Load() {
			return &machine.Error{Kind: machine.ErrUnavailable, Message: err.Error(), Cause: errors.Join(err, machine.ErrApart)}
		}
	}
	return err
}

// drain waits for the end of a sandbox that nobody wants.
func drain(box *link.Sandbox) {
	for range box.Frames() {
	}
	<-box.Ended()
}

// attempt opens the link to one supervisor.
func (s *starting) attempt(ctx context.Context, number int) (*link.Sandbox, error) {
	one := s.supervisor(number)
	pipe, err := s.c.open(context.WithoutCancel(ctx), ask{Type: askPipe, Pipe: number})
	if err != nil {
		return nil, err
	}
	opts := link.For(s.spec)
	opts.Start.Unsynced = true
	opts.Kill = func() {
		_ = s.talk.say(ask{Type: sayKill, Pipe: number})
		time.AfterFunc(killPatience, func() { // where the agent does not
			pipe.end()
			one.end()
		})
	}
	opts.Wait = func() {
		select {
		case <-one.gone:
		case <-time.After(savePatience):
		}
	}
	opts.Rush = func() (done func()) {
		_ = s.talk.say(ask{Type: sayRush})
		return func() { _ = s.talk.say(ask{Type: sayCalm}) }
	}
	opts.Damaged = func() string {
		if s.talk.say(ask{Type: sayDamaged, Pipe: number}) != nil {
			return ""
		}
		select {
		case helps := <-one.helps:
			return helps
		case <-s.over:
			return ""
		}
	}
	if s.spec.Shared != nil {
		opts.Unshared = machine.UnsharedRefused
	}
	box, err := link.Connect(ctx, pipe, opts)
	if err == nil {
		s.linkedTo = one
	}
	return box, err
}

// sandbox is a machine in memory at a place.
type sandbox struct {
	*link.Sandbox
	c   *connection
	one *supervisor
}

// Cause says why it ended. Where the pipe broke, its supervisor saves it, and a kill has not come
// there.
func (s *sandbox) Cause() machine.Cause {
	cause := s.Sandbox.Cause()
	if (cause.Kind == machine.EndedBroken || cause.Kind == machine.EndedKilled) && s.c.lost() && !s.one.told.Load() {
		return machine.Cause{Kind: machine.EndedApart, Detail: "The connection to the place where this machine is was lost."}
	}
	return cause
}

// Checkpoint is machine.Sandbox's.
func (s *sandbox) Checkpoint(ctx context.Context, goesOn func()) (machine.CheckpointInfo, error) {
	info, err := s.Sandbox.Checkpoint(ctx, goesOn)
	return info, full(err)
}

// Stop is machine.Sandbox's.
func (s *sandbox) Stop(ctx context.Context) (machine.CheckpointInfo, error) {
	info, err := s.Sandbox.Stop(ctx)
	return info, full(err)
}

// full says of a full disk whose it is: this computer's may have room.
func full(err error) error {
	if !errors.Is(err, machine.ErrDiskFull) {
		return err
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "The disk is full at the place where this machine is: " + err.Error()}
}
