// Package link is the daemon's end of the link to a supervisor, the same for every engine whose
// machines have one: it speaks what PROTOCOL.md beside the supervisor lays down over any pair of
// pipes and gives back a machine.Sandbox.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// Options are what Connect needs beside the connection.
type Options struct {
	Start protocol.Start
	// Authorities are the certificate authorities, in PEM, that the machine is to trust; empty for
	// those of its image.
	Authorities []byte
	// Connect takes each connection of the machine's to the outside and returns when it is over;
	// nil refuses them.
	Connect func(net.Conn)
	// Rush, where there is one, is called when the machine is to be saved, for which it stands
	// still, and what it returns when it has been.
	Rush func() (done func())
	// Unshared says why the folder that is shared with the machine was not given to its supervisor;
	// empty where it was.
	Unshared machine.Unshared
	// Damaged, where there is one, is called when the machine, once it was in memory, has ended
	// because its saved state is damaged, before anybody hears of that. It says what helps, as a
	// sentence.
	Damaged func() (helps string)
	// Silence, where it is not 0, is how long the other end may say nothing to a question whether
	// it is there, which it is asked as often. Then the link counts as lost. It is for a connection
	// whose other end may vanish unnoticed.
	Silence time.Duration
	// Said, where there is one, is called when the supervisor has said why it ends.
	Said func()
	// Kill ends the supervisor and its sandbox at once. It is called at most once, by Kill or when
	// the link breaks.
	Kill func()
	// Wait returns when nothing of the supervisor is left. It is called once.
	Wait func()
}

// For are the options for what the domain wants to have in memory. The engine adds its own.
func For(spec machine.StartSpec) Options {
	acked := make([][2]int, len(spec.Acked))
	for i, a := range spec.Acked {
		acked[i] = [2]int{a.Seq, a.Index}
	}
	return Options{
		Start: protocol.Start{
			Name: spec.Name, LimitBytes: int64(spec.MemoryMB) << 20, Acked: acked, Clone: spec.Clone || spec.Checkpoint == "", Life: spec.Life, Env: spec.Env,
		},
		Authorities: spec.Authorities, Connect: spec.Connect,
	}
}

// Sandbox is one machine in memory behind a supervisor: a machine.Sandbox.
type Sandbox struct {
	opts    Options
	session *yamux.Session
	control net.Conn
	ready   machine.Ready

	frames  chan machine.Frame
	waiting *waiting
	heard   chan struct{} // closed when the last reply has been read
	ended   chan struct{}
	cause   machine.Cause // valid once ended is closed

	started  atomic.Bool
	killed   atomic.Bool
	deafOnce sync.Once
	killOnce sync.Once
	lastID   atomic.Uint64
	write    sync.Mutex // of control

	mu      sync.Mutex
	replies map[uint64]chan protocol.Reply // nil once the link is closed
}

var _ machine.Sandbox = (*Sandbox)(nil)

// Connect opens the link to a supervisor that has just been started and returns when its machine is
// in memory. On an error everything is ended and opts.Wait has returned.
func Connect(ctx context.Context, conn io.ReadWriteCloser, opts Options) (*Sandbox, error) {
	mux := protocol.Mux()
	if opts.Silence > 0 {
		mux.EnableKeepAlive, mux.KeepAliveInterval, mux.ConnectionWriteTimeout = true, opts.Silence, opts.Silence
	}
	session, err := yamux.Client(conn, mux)
	if err != nil {
		conn.Close()
		opts.Kill()
		opts.Wait()
		return nil, err
	}
	s := &Sandbox{
		opts: opts, session: session,
		frames:  make(chan machine.Frame),
		waiting: newWaiting(),
		heard:   make(chan struct{}),
		ended:   make(chan struct{}),
		replies: map[uint64]chan protocol.Reply{},
	}
	control, err := s.open(protocol.TypeControl)
	if err == nil {
		s.control = control
		var frames net.Conn
		if frames, err = s.open(protocol.TypeFrames); err == nil {
			go s.listen(control)
			go s.follow(frames)
			go s.takeConnections()
			err = s.start(ctx)
			if err == nil {
				s.started.Store(true)
				return s, nil
			}
			return nil, s.abandon(err)
		}
	}
	s.kill()
	session.Close()
	opts.Wait()
	return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "The supervisor of the machine did not start.", Cause: err}
}

// open opens a stream and says what it is for.
func (s *Sandbox) open(purpose string) (net.Conn, error) {
	stream, err := s.session.Open()
	if err != nil {
		return nil, err
	}
	return stream, protocol.Write(stream, map[string]string{"type": purpose}, nil)
}

func (s *Sandbox) start(ctx context.Context) error {
	opts := s.opts.Start
	opts.Version = protocol.Version
	if opts.Acked == nil {
		opts.Acked = [][2]int{}
	}
	reply, err := s.request(ctx, protocol.Request{Type: protocol.TypeStart, Start: &opts}, nil)
	if err != nil {
		return err
	}
	ready, err := protocol.ParseReady(protocol.Frame{Type: protocol.TypeReady, Header: reply.Result})
	if err != nil {
		return fmt.Errorf("the supervisor's answer: %w", err)
	}
	if err := s.trust(ctx, ready.Trusts); err != nil {
		return err
	}
	s.ready = machine.Ready{Python: plain(ready.Python, maxVersion), LastSeq: ready.LastSeq, Running: ready.Running, Queued: ready.Queued, Unshared: s.unshared(ready.Unshared)}
	return nil
}

// unshared is what a supervisor says of the shared folder, which may be one in a container that
// means harm.
func (s *Sandbox) unshared(said string) machine.Unshared {
	switch {
	case s.opts.Unshared != "":
		return s.opts.Unshared
	case said == "":
		return ""
	case said == protocol.UnsharedGone:
		return machine.UnsharedGone
	}
	return machine.UnsharedRefused
}

// abandon ends what could not be started, and explains err by the cause of the end where that tells
// more: where the start was not refused in a sentence and nobody has given up waiting for it.
func (s *Sandbox) abandon(err error) error {
	givenUp := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if givenUp {
		s.kill()
	} else {
		// The supervisor ends on its own and says why.
		timer := time.AfterFunc(10*time.Second, s.kill)
		defer timer.Stop()
	}
	for range s.frames { // nobody wants them
	}
	<-s.ended
	var told *machine.Error
	refused := errors.As(err, &told) && !errors.Is(err, machine.ErrConflict) // which only says that there is no link any more
	if givenUp || refused || s.cause.Detail == "" {
		return err
	}
	return &machine.Error{
		Kind: machine.ErrUnavailable, Message: s.cause.Detail + " Try again; the daemon's log says more.",
		Cause: errors.New("start: " + err.Error()), // without its kind
	}
}

// Ready is what the runner said when it was ready.
func (s *Sandbox) Ready() machine.Ready { return s.ready }

// Frames delivers what the runner puts out.
func (s *Sandbox) Frames() <-chan machine.Frame { return s.frames }

// Ended is closed when nothing of the sandbox and its supervisor is left.
func (s *Sandbox) Ended() <-chan struct{} { return s.ended }

// Cause says why it ended, once Ended is closed.
func (s *Sandbox) Cause() machine.Cause {
	select {
	case <-s.ended:
		return s.cause
	default:
		return machine.Cause{}
	}
}

// Kill ends the sandbox without saving.
func (s *Sandbox) Kill() {
	s.killed.Store(true)
	s.deafen()
	s.kill()
}

// deafen lets the end come even when nobody reads the frames any more.
func (s *Sandbox) deafen() { s.deafOnce.Do(func() { close(s.waiting.deaf) }) }

func (s *Sandbox) kill() { s.killOnce.Do(s.opts.Kill) }

// Disconnect lets go of the supervisor, as the daemon's death would: it saves the machine and ends.
// Ended tells when.
func (s *Sandbox) Disconnect() {
	s.deafen()
	s.session.Close()
}

// follow reads the stream of frames until its end and then sees the sandbox off.
func (s *Sandbox) follow(stream net.Conn) {
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		s.waiting.deliver(s.frames)
	}()
	cause := s.read(stream)
	s.waiting.close()
	if cause.Kind == machine.EndedBroken {
		// Anyone who broke the link or the protocol may still be there.
		if !s.session.IsClosed() {
			s.kill()
		}
	}
	s.session.Close()
	<-s.heard // a reply may have come just before the end
	s.opts.Wait()
	<-delivered
	if s.killed.Load() && cause.Kind == machine.EndedBroken {
		cause = machine.Cause{Kind: machine.EndedKilled, Detail: "The machine was ended without saving."}
	}
	if cause.Kind == machine.EndedDamaged && s.started.Load() && s.opts.Damaged != nil {
		cause.Detail = strings.TrimSpace(cause.Detail + " " + s.opts.Damaged())
	}
	s.cause = cause
	close(s.ended)
	s.mu.Lock()
	replies := s.replies
	s.replies = nil
	s.mu.Unlock()
	for _, waiting := range replies {
		close(waiting)
	}
}

// read delivers frames until the last one, and says why there are no more.
func (s *Sandbox) read(stream net.Conn) machine.Cause {
	for {
		f, err := protocol.Read(stream)
		switch {
		case errors.Is(err, protocol.ErrViolation):
			return machine.Cause{Kind: machine.EndedBroken, Detail: "The machine was ended because its supervisor broke the rules of its connection."}
		case err != nil:
			return machine.Cause{Kind: machine.EndedBroken, Detail: "The supervisor of the machine ended unexpectedly."}
		case f.Type == protocol.TypeEnded:
			if s.opts.Said != nil {
				s.opts.Said()
			}
			return ended(f)
		}
		frame, err := toFrame(f)
		if err != nil {
			return machine.Cause{Kind: machine.EndedBroken, Detail: "The machine was ended because it broke the rules of its connection."}
		}
		s.waiting.add(frame, f.Size())
	}
}

func ended(f protocol.Frame) machine.Cause {
	var e protocol.Ended
	broken := machine.Cause{Kind: machine.EndedBroken, Detail: "The supervisor of the machine ended and did not say why."}
	if f.Decode(&e) != nil {
		return broken
	}
	cause := machine.Cause{Kind: machine.CauseKind(e.Cause), Detail: plain(e.Detail, maxSentence), OwnLimit: e.OwnLimit}
	switch cause.Kind {
	case machine.EndedStopped, machine.EndedExited, machine.EndedMemory, machine.EndedBroken, machine.EndedDamaged:
	default:
		return broken
	}
	if len(e.Checkpoint) > 0 {
		m, err := checkpoint.Parse(e.Checkpoint)
		if err != nil {
			return broken
		}
		info := Info(m)
		cause.Checkpoint = &info
	}
	return cause
}

// Info is what the domain is told of a checkpoint.
func Info(m checkpoint.Manifest) machine.CheckpointInfo {
	return machine.CheckpointInfo{
		ID: m.ID, CreatedAt: m.CreatedAt, LastSeq: m.LastSeq, RunningSeq: m.RunningSeq,
		Size: m.Size, Whole: m.Whole, Image: m.Image, Runtime: m.Runtime, Pause: m.Pause,
	}
}
