package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// connection is one pipe to an agent that has said hello.
type connection struct {
	session *yamux.Session
	hello   hello
}

// connect greets the agent at the other end of a pipe. On an error the pipe is closed.
func connect(ctx context.Context, pipe io.ReadWriteCloser, owner string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, greetingPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { pipe.Close() })
	defer stop()
	slow := time.AfterFunc(silence, func() { pipe.Close() })
	noise, err := awaitGreeting(pipe)
	slow.Stop()
	if err != nil {
		if p, ok := pipe.(*piped); ok {
			p.talked(noise)
		}
		pipe.Close()
		if e, ok := pipe.(Explainer); ok && !errors.Is(ctx.Err(), context.Canceled) {
			if why := e.Why(); why != nil {
				return nil, why
			}
		}
		return nil, nobodyThere(ctx, err)
	}
	session, err := yamux.Client(pipe, mux())
	if err != nil {
		pipe.Close()
		return nil, err
	}
	c := &connection{session: session}
	a, err := c.greet(ctx, owner)
	if err == nil {
		err = a.Failure.err()
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	c.hello = hello{a.Hello.Protocol, plain(a.Hello.Version, maxWord), plain(a.Hello.Processor, maxWord)}
	return c, nil
}

// nobodyThere says that no agent answers, unless nobody waits for one any more.
func nobodyThere(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: "ForeverVM does not answer at this place. Set it up there again.", Cause: err}
}

// greet says hello. The error is that nobody answers who knows what that is.
func (c *connection) greet(ctx context.Context, owner string) (a answer, err error) {
	t, err := c.open(ctx, ask{Type: askHello, Protocol: Protocol, Owner: owner})
	if err == nil {
		defer t.end()
		a, err = t.hear(ctx)
	}
	if err == nil && a.Failure == nil && (a.Hello == nil || a.Hello.Protocol != Protocol) {
		err = errLies
	}
	if err != nil {
		err = nobodyThere(ctx, err)
	}
	return a, err
}

// lost says whether the pipe is broken or closed.
func (c *connection) lost() bool { return c.session.IsClosed() }

// close waits until nothing is read from the pipe any more, which may take until its agent has
// saved its machines.
func (c *connection) close() { c.session.Close() }

// abandon is close without the waiting. The connection is lost when it returns.
func (c *connection) abandon() {
	go c.close()
	<-c.session.CloseChan()
}

// broke says whether something failed because the pipe broke meanwhile, so that it may go well over
// a new one: the other end may have been moved or restarted. It does not say so where an agent
// broke the protocol, or where a supervisor may still have the machine.
func (c *connection) broke(ctx context.Context, err error) bool {
	return err != nil && c.lost() && ctx.Err() == nil &&
		!errors.Is(err, machine.ErrApart) && !errors.Is(err, errLies) && !errors.Is(err, protocol.ErrViolation)
}

// talk is a stream on which both say something.
type talk struct {
	net.Conn
	c    *connection
	stop func() bool
	send sync.Mutex
}

// open asks something. What follows on the stream ends with ctx, if that ends before the caller has
// closed it.
func (c *connection) open(ctx context.Context, q ask) (*talk, error) {
	stream, err := c.session.Open()
	if err != nil { // also yamux.ErrRemoteGoAway: the agent is ending
		c.abandon()
		return nil, c.failed(ctx, err)
	}
	t := &talk{Conn: stream, c: c}
	t.stop = context.AfterFunc(ctx, func() { stream.Close(); _ = stream.SetDeadline(time.Unix(1, 0)) })
	if err := t.say(q); err != nil {
		t.end()
		return nil, c.failed(ctx, err)
	}
	return t, nil
}

// Close ends the talk.
func (t *talk) Close() error {
	t.stop()
	return t.Conn.Close()
}

// end is Close where nobody can do anything about an error.
func (t *talk) end() { _ = t.Close() }

func (t *talk) say(q ask) error {
	t.send.Lock()
	defer t.send.Unlock()
	return protocol.Write(t.Conn, q, nil)
}

// hear returns the next thing that the agent says.
func (t *talk) hear(ctx context.Context) (answer, error) {
	a, err := readAnswer(t.Conn)
	if err != nil {
		return a, t.c.failed(ctx, err)
	}
	return a, nil
}

func readAnswer(r io.Reader) (a answer, err error) {
	f, err := protocol.Read(r)
	if err == nil {
		err = f.Decode(&a)
	}
	return a, err
}

// failed explains an error of a stream. An agent that breaks the protocol is not spoken to again.
func (c *connection) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, protocol.ErrViolation), errors.Is(err, errLies):
		c.close()
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "What came from this place makes no sense. Update ForeverVM there.", Cause: err}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: errBroken, Cause: err}
}

// errBroken is told of whatever was under way when a pipe broke.
const errBroken = "The connection to the other place was lost. Machines there are saved. Try again."

// call asks something and returns the one answer.
func (c *connection) call(ctx context.Context, q ask) (answer, error) {
	t, err := c.open(ctx, q)
	if err != nil {
		return answer{}, err
	}
	defer t.end()
	a, err := t.hear(ctx)
	if err != nil {
		return a, err
	}
	return a, a.Failure.err()
}

// checked passes on what came, or explains what is wrong with it.
func checked[T any](ctx context.Context, c *connection, value T, err error) (T, error) {
	if err != nil {
		var none T
		return none, c.failed(ctx, err)
	}
	return value, nil
}
