package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/forevervm/desktop/backend/wire"
)

// Repl is a WebSocket to one machine. One instruction is sent at a time; it is not for use from several goroutines.
type Repl struct {
	conn    *websocket.Conn
	machine string
	next    int64 // request id
}

// Repl opens a socket to a machine; "" makes a new one. The caller closes it. Closing does not stop what runs.
func (w Wire) Repl(ctx context.Context, machine string) (*Repl, error) {
	if machine == "" {
		machine = "new"
	}
	at, err := w.c.link.current(ctx)
	if err != nil {
		return nil, err
	}
	repl, err := w.dial(ctx, at, machine)
	if err != nil && neverSent(err) && w.c.link.locate != nil {
		if at, err = w.c.link.relocate(ctx, &at); err != nil {
			return nil, err
		}
		repl, err = w.dial(ctx, at, machine)
	}
	if err != nil && neverSent(err) {
		err = unreachable(at, err)
	}
	return repl, err
}

func (w Wire) dial(ctx context.Context, at Endpoint, machine string) (*Repl, error) {
	headers := http.Header{}
	w.c.identify(headers, at)
	address := "ws" + strings.TrimPrefix(at.URL, "http") + wirePath(machine, "repl")
	conn, resp, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: w.c.link.http, HTTPHeader: headers})
	if err != nil {
		if resp != nil && resp.StatusCode >= 400 {
			defer resp.Body.Close()
			return nil, answerError(resp)
		}
		return nil, err
	}
	conn.SetReadLimit(wire.MaxMessage)
	repl := &Repl{conn: conn}
	first, err := repl.read(ctx)
	if err == nil {
		connected, ok := first.(wire.Connected)
		repl.machine = connected.MachineName
		if !ok {
			err = fmt.Errorf("the server's first message on the socket is %T, not the machine's name", first)
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.CloseNow())
	}
	return repl, nil
}

// Machine is the name of the machine at the other end.
func (r *Repl) Machine() string { return r.machine }

// Exec runs code and calls yield with each line that it puts out. It returns the instruction's number and how it ended. An error
// of yield ends it and is returned as it is; the instruction goes on.
func (r *Repl) Exec(ctx context.Context, in wire.Instruction, yield func(wire.Chunk) error) (seq int, result wire.ExecResult, err error) {
	r.next++
	if err := wsjson.Write(ctx, r.conn, wire.ExecMessage{Type: wire.TypeExec, Instruction: in, RequestID: r.next}); err != nil {
		return 0, result, err
	}
	seq = -1
	for {
		message, err := r.read(ctx)
		if err != nil {
			return seq, result, err
		}
		switch m := message.(type) {
		case wire.ExecReceived:
			if m.RequestID == r.next {
				seq = m.Seq
			}
		case wire.Output:
			if m.InstructionID == seq {
				if err := yield(m.Chunk); err != nil {
					return seq, result, err
				}
			}
		case wire.Result:
			if m.InstructionID == seq {
				return seq, m.Result, nil
			}
		case wire.SocketError:
			return seq, result, &Error{Code: m.Code, Message: fmt.Sprintf("the server ended the conversation: %s", m.Code)}
		}
	}
}

func (r *Repl) read(ctx context.Context) (wire.FromServer, error) {
	_, data, err := r.conn.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrDropped, err)
	}
	return wire.Decode(data)
}

// Close closes the socket.
func (r *Repl) Close() error { return r.conn.Close(websocket.StatusNormalClosure, "") }
