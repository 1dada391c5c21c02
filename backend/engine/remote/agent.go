//go:build linux

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// Agent is the far end of a pipe: it has the machines of its place.
type Agent struct {
	Engine  *native.Engine
	Store   *local.Store
	Version string // of the program
	Log     *slog.Logger
	// Enter is called when the daemon has said whose it is, before it is answered: it ends an
	// earlier agent of the same one. Nil for nothing to do.
	Enter func(owner string) error
	// Memory tells how many bytes machines can still take, and how many the place has. Nil where
	// that is not known.
	Memory func() (free, total int64)
}

// Serve does what the daemon at the other end wants, until that lets go, the pipe breaks or ctx
// ends. Machines that are in memory then are saved by their supervisors; the engine's Close waits
// for those.
func (a *Agent) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	if _, err := io.WriteString(pipe, Greeting); err != nil {
		return err
	}
	session, err := yamux.Server(pipe, mux())
	if err != nil {
		return err
	}
	defer session.Close()
	defer context.AfterFunc(ctx, func() { leave(session) })()
	s := &serving{Agent: a, supervisors: map[int]io.ReadWriteCloser{}, exports: map[int]machine.OpenState{}}
	var talks sync.WaitGroup
	defer talks.Wait()
	for {
		stream, err := session.Accept()
		if err != nil {
			return nil // the end
		}
		talks.Go(func() {
			defer stream.Close()
			// What is under way ends with the pipe. If it ended with ctx, it could still answer
			// that it failed, and the daemon would take that for the last word.
			if err := s.serve(context.WithoutCancel(ctx), stream); err != nil {
				a.Log.Warn("a request ended early", "err", err)
			}
		})
	}
}

// leave closes a session, and tells the other end before: some pipes end only with this process,
// which first saves its machines. A pipe that takes nothing does not keep it from that.
func leave(session *yamux.Session) {
	defer time.AfterFunc(leavePatience, func() { session.Close() }).Stop()
	_ = session.GoAway() // returns when it is written
	session.Close()
}

// serving is one pipe to a daemon.
type serving struct {
	*Agent

	mu          sync.Mutex
	greeted     bool
	last        int                        // number that was given last
	supervisors map[int]io.ReadWriteCloser // whose link nobody has taken yet
	exports     map[int]machine.OpenState
}

// number is one that nothing else on this pipe has. mu is held.
func (s *serving) number() int {
	s.last++
	return s.last
}

// request is one that is being answered. What it says may be said from several goroutines.
type request struct {
	ask
	net.Conn
	send sync.Mutex
}

func (r *request) say(a answer) error {
	r.send.Lock()
	defer r.send.Unlock()
	return protocol.Write(r.Conn, a, nil)
}

// hear returns the next thing that the daemon says.
func (r *request) hear() (q ask, err error) {
	f, err := protocol.Read(r.Conn)
	if err == nil {
		err = f.Decode(&q)
	}
	return q, err
}

// serve answers what comes on one stream.
func (s *serving) serve(ctx context.Context, stream net.Conn) error {
	r := &request{Conn: stream}
	_ = stream.SetReadDeadline(time.Now().Add(silence))
	q, err := r.hear()
	_ = stream.SetReadDeadline(time.Time{})
	if err != nil {
		return err
	}
	r.ask = q
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case q.Type == askHello:
		return s.greet(r)
	case !s.isGreeted():
		return r.say(answer{Type: sayDone, Failure: &failure{Message: "Say hello first."}})
	}
	switch q.Type {
	case askPipe:
		return s.pipe(r)
	case askStart:
		return s.start(ctx, cancel, r)
	case askExport:
		return s.export(ctx, cancel, r)
	case askRead:
		return s.read(r)
	case askImport:
		return s.importState(ctx, r)
	}
	go func() { // a daemon that does not wait any more closes the stream
		_, _ = r.hear()
		cancel()
	}()
	a, err := s.answer(ctx, q)
	a.Type, a.Failure = sayDone, failureOf(err)
	return r.say(a)
}

func (s *serving) isGreeted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.greeted
}

func (s *serving) greet(r *request) error {
	done := answer{Type: sayDone, Hello: &hello{Protocol: Protocol, Version: s.Version, Processor: runtime.GOARCH}}
	switch {
	case r.ask.Protocol != Protocol:
		done.Failure = &failure{Kind: "unavailable", Message: fmt.Sprintf("ForeverVM at this place is of another version: %s. Update it there.", s.Version)}
	case s.Enter != nil && !s.isGreeted():
		done.Failure = failureOf(s.Enter(r.Owner))
	}
	if done.Failure == nil {
		s.mu.Lock()
		s.greeted = true
		s.mu.Unlock()
	}
	return r.say(done)
}

// answer does what takes one call.
func (s *serving) answer(ctx context.Context, q ask) (a answer, err error) {
	tell := func(info machine.CheckpointInfo, err error) (answer, error) {
		if err != nil {
			return answer{}, err
		}
		return answer{Checkpoint: checkpointOf(info)}, nil
	}
	switch q.Type {
	case askReclaim:
		info, err := s.Engine.Reclaim(ctx, q.Machine, q.Life, q.Known)
		if info == nil || err != nil {
			return answer{}, err
		}
		return tell(*info, nil)
	case askPurge:
		return answer{}, s.Engine.Purge(ctx, q.Machine)
	case askFits:
		if q.Needs == nil {
			return answer{}, errors.New("needs are missing")
		}
		return answer{}, s.Engine.CheckCompatible(ctx, q.Image, machine.Needs(*q.Needs))
	case askCheck:
		for _, p := range s.Engine.Check(ctx) {
			a.Problems = append(a.Problems, problem(p))
		}
		return a, nil
	case askCopy:
		return tell(s.Store.Copy(ctx, q.Machine, q.Checkpoint, q.To))
	case askPersist:
		return answer{}, s.Store.Persist(ctx, q.Machine, q.Checkpoint, q.Awaited)
	case askSeal:
		return answer{}, s.Store.Seal(ctx, q.Machine, q.Checkpoint)
	case askCompact:
		a.Bytes, err = s.Store.Compact(ctx, q.Machine, q.Checkpoint)
		return a, err
	case askCollect:
		return answer{}, s.Store.Collect(ctx)
	case askMemory:
		if s.Memory != nil {
			a.Bytes, a.Total = s.Memory()
		}
		if a.Total <= 0 || a.Bytes < 0 {
			return answer{}, machine.Invalid("This place does not say how much memory it has.")
		}
		a.Bytes = min(a.Bytes, a.Total)
		return a, nil
	case askUsed:
		a.Bytes, err = s.Store.Used()
		return a, err
	case askDelete:
		return answer{}, s.Store.Delete(ctx, q.Machine, q.Checkpoint)
	}
	return answer{}, fmt.Errorf("%.80q is nothing that an agent knows", q.Type)
}

// pipe passes the link of a supervisor through.
func (s *serving) pipe(r *request) error {
	s.mu.Lock()
	supervisor := s.supervisors[r.Pipe]
	delete(s.supervisors, r.Pipe)
	s.mu.Unlock()
	if supervisor == nil {
		return fmt.Errorf("there is no supervisor %d to be linked", r.Pipe)
	}
	defer supervisor.Close()
	up := make(chan struct{})
	go func() {
		defer close(up)
		_, _ = io.Copy(r.Conn, supervisor)
		r.Conn.Close()
	}()
	_, _ = io.Copy(supervisor, r.Conn)
	supervisor.Close()
	<-up
	return nil
}

// start brings a machine into memory, and stays until nothing of it is left and the daemon lets go.
func (s *serving) start(ctx context.Context, cancel context.CancelFunc, r *request) error {
	l := &linking{s: s, r: r, linked: make(chan error), attempts: map[int]link.Options{}}
	var left sync.WaitGroup // what is told of supervisors
	defer left.Wait()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer cancel()
		l.listen(ctx)
	}()
	spec := machine.StartSpec{ID: r.Machine, Image: r.Image, Checkpoint: r.ask.Checkpoint, MemoryMB: r.MemoryMB}
	_, err := s.Engine.StartBy(ctx, spec, func(ctx context.Context, conn io.ReadWriteCloser, opts link.Options) (*link.Sandbox, error) {
		return nil, l.link(ctx, &left, conn, opts)
	})
	err = r.say(answer{Type: sayDone, Failure: failureOf(err)})
	<-heard
	l.calm()
	return err
}

// linking is a start in whose course the daemon links up with supervisors.
type linking struct {
	s      *serving
	r      *request
	linked chan error

	mu       sync.Mutex
	attempts map[int]link.Options
	rushing  []func() // ends what was asked for
}

// listen does what the daemon says until it lets go.
func (l *linking) listen(ctx context.Context) {
	for {
		q, err := l.r.hear()
		if err != nil {
			return
		}
		l.mu.Lock()
		opts, known := l.attempts[q.Pipe]
		l.mu.Unlock()
		switch {
		case q.Type == sayRush && len(l.rushing) < 8: // it saves a machine once at a time
			l.rushing = append(l.rushing, l.s.Store.Rush())
		case q.Type == sayCalm:
			l.calmOne()
		case !known:
		case q.Type == sayLinked:
			select {
			case l.linked <- q.Failure.err():
			case <-ctx.Done():
			}
		case q.Type == sayKill:
			opts.Kill()
		case q.Type == sayDamaged:
			helps := ""
			if opts.Damaged != nil {
				helps = opts.Damaged()
			}
			_ = l.r.say(answer{Type: sayHelps, Pipe: q.Pipe, Text: helps})
		}
	}
}

func (l *linking) calmOne() {
	if n := len(l.rushing); n > 0 {
		l.rushing[n-1]()
		l.rushing = l.rushing[:n-1]
	}
}

func (l *linking) calm() {
	for len(l.rushing) > 0 {
		l.calmOne()
	}
}

// link has the daemon open the link to a supervisor, as link.Connect would: on an error, nothing is
// left of that supervisor.
func (l *linking) link(ctx context.Context, left *sync.WaitGroup, conn io.ReadWriteCloser, opts link.Options) error {
	s := l.s
	s.mu.Lock()
	number := s.number()
	s.supervisors[number] = conn
	s.mu.Unlock()
	l.mu.Lock()
	l.attempts[number] = opts
	l.mu.Unlock()
	gone := make(chan struct{})
	left.Go(func() {
		opts.Wait()
		close(gone)
		_ = l.r.say(answer{Type: sayGone, Pipe: number})
	})
	err := l.r.say(answer{Type: sayAttempt, Pipe: number})
	if err == nil {
		select {
		case err = <-l.linked:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		s.mu.Lock()
		delete(s.supervisors, number)
		s.mu.Unlock()
		conn.Close()
		opts.Kill()
		<-gone
	}
	return err
}
