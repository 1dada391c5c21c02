package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/forevervm/desktop/backend/wire"
)

// Repl is a conversation with one machine over a WebSocket, which is opened again when it breaks.
// One instruction is sent at a time; it is not for use from several goroutines.
type Repl struct {
	w       Wire
	machine string
	socket  *socket // may be broken
	request int64   // the last request id
	next    int     // the number that the next instruction gets if nobody else uses the machine; -1 where that is not known
	seen    int     // the number after the last that is known of; -1 for none
	missed  int     // see Missed
}

// UnknownError says that an instruction was sent on a connection that broke before the server said
// that it took it. It may run, or not; it is never sent again on its own. errors.Is tells it as
// ErrDropped.
type UnknownError struct {
	Machine string
	// Seq is the number that it has if it runs and nobody else uses the machine; -1 where that is
	// not known.
	Seq int
	// Exists says that there is an instruction of that number: it, or one that another program sent
	// meanwhile.
	Exists bool
	cause  error
}

// Error returns the sentence, without the cause: what is known of it helps nobody.
func (e *UnknownError) Error() string {
	const what = "the connection broke when code was sent to %s, so it is not known whether it runs; "
	switch {
	case e.Exists:
		return fmt.Sprintf(what+"its step %d is new and may be that code. Look at its result before you send the code again", e.Machine, e.Seq+1)
	case e.Seq >= 0:
		return fmt.Sprintf(what+"up to now there is no step %d, which it would be: look whether there is one before you send it again", e.Machine, e.Seq+1)
	}
	return fmt.Sprintf(what+"look at the machine before you send it again", e.Machine)
}

// Unwrap gives errors.Is the kind and the cause.
func (e *UnknownError) Unwrap() []error { return []error{ErrDropped, e.cause} }

// Unknown finds out what can be known of an instruction that got lost on its way to a machine,
// where next was the number that it would get (-1: not known).
func (w Wire) Unknown(ctx context.Context, machine string, next int, cause error) *UnknownError {
	lost := &UnknownError{Machine: machine, Seq: next, cause: cause}
	if next >= 0 && ctx.Err() == nil {
		exists, err := w.Exists(ctx, machine, next)
		if err != nil {
			lost.cause = errors.Join(cause, err)
		}
		lost.Exists = exists
	}
	return lost
}

// Repl opens a socket to a machine; "" makes a new one. The caller closes it. Closing does not stop
// what runs.
func (w Wire) Repl(ctx context.Context, machine string) (*Repl, error) {
	r := &Repl{w: w, machine: machine, next: -1, seen: -1}
	if machine == "" {
		r.next, r.seen = 0, 0
	}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// open opens the socket, at the server's new address if it has moved.
func (r *Repl) open(ctx context.Context) error {
	link := r.w.c.link
	at, err := link.current(ctx)
	if err != nil {
		return err
	}
	s, sent, err := r.w.dial(ctx, at, r.machine)
	if err != nil && !sent && link.locate != nil {
		if at, err = link.relocate(ctx, &at); err != nil {
			return err
		}
		s, sent, err = r.w.dial(ctx, at, r.machine)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !sent:
		return unreachable(at, err)
	case err != nil:
		return err
	}
	if r.socket != nil {
		r.socket.abandon()
	}
	r.socket, r.machine = s, s.machine
	return nil
}

// dial opens a socket once. With an error, sent says whether the server may have heard of it.
func (w Wire) dial(ctx context.Context, at Endpoint, machine string) (_ *socket, sent bool, _ error) {
	if machine == "" {
		machine = "new"
	}
	var connected atomic.Bool
	dialing, cancel := context.WithTimeout(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}), prompt)
	defer cancel()
	headers := http.Header{}
	w.c.identify(headers, at)
	address := "ws" + strings.TrimPrefix(at.URL, "http") + wirePath(machine, "repl")
	conn, resp, err := websocket.Dial(dialing, address, &websocket.DialOptions{HTTPClient: w.c.link.http, HTTPHeader: headers})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil {
			defer resp.Body.Close()
			return nil, true, answerError(resp)
		}
		return nil, connected.Load(), err
	}
	conn.SetReadLimit(wire.MaxMessage)
	s := &socket{conn: conn, messages: make(chan wire.FromServer), broken: make(chan struct{}), closing: make(chan struct{})}
	go s.read()
	select {
	case first := <-s.messages:
		hello, ok := first.(wire.Connected)
		if !ok {
			s.abandon()
			return nil, true, fmt.Errorf("the server's first message on the socket is %T, not the machine's name", first)
		}
		s.machine = hello.MachineName
		return s, true, nil
	case <-s.broken:
		err = s.err
	case <-dialing.Done():
		err = dialing.Err()
	}
	s.abandon()
	return nil, true, fmt.Errorf("%w: %w", ErrDropped, err)
}

// took notes the number that the machine gave an instruction; negative where it did not take it.
func (r *Repl) took(seq int) {
	if seq < 0 {
		return
	}
	if r.seen >= 0 {
		r.missed = max(0, seq-r.seen)
	}
	r.next, r.seen = max(r.next, seq+1), max(r.seen, seq+1)
}

// Missed is how many instructions the machine took just before the last one that this conversation
// knows nothing of: other programs sent them, or they are its own, lost on their way or doubled by
// something there. Of what came before its first instruction on a machine that was there it is 0.
func (r *Repl) Missed() int { return r.missed }

// Machine is the name of the machine at the other end.
func (r *Repl) Machine() string { return r.machine }

// Exec runs code and calls yield with each line that it puts out. It returns the instruction's
// number and how it ended, also when the connection broke meanwhile: what came since is fetched by
// that number. Where the connection broke before the number came, the error is an UnknownError, and
// seq -1. An error of yield ends it and is returned as it is; the instruction goes on.
func (r *Repl) Exec(ctx context.Context, in wire.Instruction, yield func(wire.Chunk) error) (seq int, result wire.ExecResult, err error) {
	if r.socket.isBroken() { // nothing was sent yet, so that another socket is as good
		if err := r.open(ctx); err != nil {
			return -1, result, err
		}
	}
	r.request++
	r.missed, seq = 0, -1
	received, line := false, 0
	lost := r.socket.send(ctx, wire.ExecMessage{Type: wire.TypeExec, Instruction: in, RequestID: r.request})
	for lost == nil {
		var message wire.FromServer
		if message, lost = r.socket.receive(ctx); lost != nil {
			break
		}
		switch m := message.(type) {
		case wire.ExecReceived:
			if m.RequestID == r.request && !received { // a second one is of a copy, which counts as missed
				seq, received = m.Seq, true
				r.took(seq)
			}
		case wire.Output:
			if m.InstructionID != seq || m.Chunk.Seq < line {
				continue
			}
			line = m.Chunk.Seq + 1
			if err := yield(m.Chunk); err != nil {
				return seq, result, err
			}
		case wire.Result:
			if m.InstructionID == seq {
				return seq, m.Result, nil
			}
		case wire.SocketError:
			return seq, result, &Error{Code: m.Code, Message: fmt.Sprintf("the server ended the conversation: %s", m.Code)}
		}
	}
	r.socket.abandon()
	if ctx.Err() != nil {
		return seq, result, ctx.Err()
	}
	if received && seq < 0 { // it was not taken, and why got lost
		return seq, result, fmt.Errorf("%w: the server did not take the code, and the connection broke before it said why: %w", ErrDropped, lost)
	}
	if !received {
		unknown := r.w.Unknown(ctx, r.machine, r.next, lost)
		r.next = -1
		return -1, result, unknown
	}
	result, err = r.w.StreamResultFrom(ctx, r.machine, seq, line, yield)
	return seq, result, err
}

// Close closes the socket.
func (r *Repl) Close() error {
	r.socket.close()
	return nil
}

// socket is one connection. It is read all the time, so that its end is noticed before something is
// sent on it.
type socket struct {
	conn     *websocket.Conn
	machine  string
	messages chan wire.FromServer
	broken   chan struct{} // closed at its end, err is set then
	err      error
	closing  chan struct{} // closed when nobody listens any more
	closed   atomic.Bool
}

// read reads until the end.
func (s *socket) read() {
	defer close(s.broken)
	var data bytes.Buffer // of every message, as most are one line
	for {
		message, err := s.next(&data)
		if err != nil {
			s.err = err
			_ = s.conn.CloseNow() // it is of no use any more
			return
		}
		select {
		case s.messages <- message:
		case <-s.closing:
			s.err = errClosed
			return
		}
	}
}

var errClosed = errors.New("the socket was closed")

// next reads a message by way of data.
func (s *socket) next(data *bytes.Buffer) (wire.FromServer, error) {
	// Not under the context of one call: that would close the socket with it.
	_, r, err := s.conn.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	if data.Reset(); data.Cap() > keptBytes {
		*data = bytes.Buffer{}
	}
	if _, err := data.ReadFrom(r); err != nil {
		return nil, err
	}
	return wire.Decode(data.Bytes())
}

// keptBytes is how long a message may be whose memory an idle socket keeps for the next.
const keptBytes = 64 << 10

func (s *socket) isBroken() bool {
	select {
	case <-s.broken:
		return true
	default:
		return s.closed.Load()
	}
}

func (s *socket) send(ctx context.Context, message wire.ExecMessage) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// receive returns the next message.
func (s *socket) receive(ctx context.Context) (wire.FromServer, error) {
	select {
	case m := <-s.messages:
		return m, nil
	case <-s.broken:
		return nil, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close ends the conversation and waits for its reader.
func (s *socket) close() {
	s.end(func() { _ = s.conn.Close(websocket.StatusNormalClosure, "") }) // the other side may be gone
}

// abandon does the same without a word to the other side, which may not answer any more.
func (s *socket) abandon() { s.end(func() { _ = s.conn.CloseNow() }) }

func (s *socket) end(hangUp func()) {
	if s.closed.Swap(true) {
		return
	}
	close(s.closing)
	hangUp()
	<-s.broken
}
