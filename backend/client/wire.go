package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/wire"
)

// Wire speaks the public ForeverVM protocol, which the daemon and the hosted service both serve.
type Wire struct{ c *Client }

// Wire returns this client's view of the public protocol.
func (c *Client) Wire() Wire { return Wire{c} }

// Whoami returns the account that the token belongs to.
func (w Wire) Whoami(ctx context.Context) (wire.Whoami, error) {
	var out wire.Whoami
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: "/v1/whoami", repeatable: true, within: prompt}, &out)
	return out, err
}

// Signup asks for an account, whose token the service sends by e-mail. It needs no token.
func (w Wire) Signup(ctx context.Context, s wire.Signup) error {
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: "/internal/signup", json: s, within: prompt}, nil)
	return err
}

// New makes a machine and returns its name.
func (w Wire) New(ctx context.Context, n wire.NewMachine) (string, error) {
	var out wire.NewMachineResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: "/v1/machine/new", json: n, within: prompt}, &out)
	return out.MachineName, err
}

// List returns the machines that carry all of these tags, newest first.
func (w Wire) List(ctx context.Context, tags map[string]string) ([]wire.Machine, error) {
	var out wire.ListMachinesResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: "/v1/machine/list", json: wire.ListMachines{Tags: tags}, repeatable: true, within: prompt}, &out)
	return out.Machines, err
}

// Exec queues an instruction. It is never sent twice: after ErrDropped nobody knows whether it
// runs, and Exists says whether any that could be it is there.
func (w Wire) Exec(ctx context.Context, machine string, e wire.Exec) (wire.ExecResponse, error) {
	var out wire.ExecResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: wirePath(machine, "exec"), json: e, within: prompt}, &out)
	return out, err
}

// Result waits for an instruction's end and returns how it ended.
func (w Wire) Result(ctx context.Context, machine string, seq int) (wire.ExecResult, error) {
	var out wire.ExecResultResponse
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: wirePath(machine, "exec", strconv.Itoa(seq), "result"), repeatable: true}, &out)
	return out.Result, err
}

// probeWithin is how long a server may take to say that there is no such instruction.
const probeWithin = 5 * time.Second

// Exists says whether the machine has an instruction of that number, over or not.
func (w Wire) Exists(ctx context.Context, machine string, seq int) (bool, error) {
	resp, err := w.c.send(ctx, request{method: http.MethodGet, path: wirePath(machine, "exec", strconv.Itoa(seq), "stream-result"), repeatable: true, within: probeWithin})
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case errors.Is(err, ErrSlow): // what is not there is said at once
		return true, nil
	case err != nil:
		return false, err
	}
	return true, resp.Body.Close()
}

// StreamResult calls yield with each line that an instruction puts out, from its first one on, and
// returns how it ended. After a broken connection it goes on with the next line. An error of yield
// ends it and is returned as it is.
func (w Wire) StreamResult(ctx context.Context, machine string, seq int, yield func(wire.Chunk) error) (wire.ExecResult, error) {
	return w.StreamResultFrom(ctx, machine, seq, 0, yield)
}

// StreamResultFrom does the same from a later line on: the one whose Seq is next.
func (w Wire) StreamResultFrom(ctx context.Context, machine string, seq, next int, yield func(wire.Chunk) error) (wire.ExecResult, error) {
	r := request{method: http.MethodGet, path: wirePath(machine, "exec", strconv.Itoa(seq), "stream-result"), repeatable: true}
	var done *wire.ExecResult
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		err := w.c.stream(ctx, r, func(line []byte) error {
			message, err := wire.Decode(line)
			if err != nil {
				return err
			}
			switch m := message.(type) {
			case wire.Output:
				if m.Chunk.Seq < next {
					return nil
				}
				next = m.Chunk.Seq + 1
				if err := yield(m.Chunk); err != nil {
					return errYield{err}
				}
			case wire.Result:
				done = &m.Result
			}
			return nil
		})
		if done != nil {
			return *done, nil
		}
		if err = brokeOff(ctx, err); err != nil {
			return wire.ExecResult{}, err
		}
		if err := pause(ctx, jittered(backoff)); err != nil {
			return wire.ExecResult{}, err
		}
	}
}

func wirePath(machine string, parts ...string) string {
	path := "/v1/machine/" + url.PathEscape(machine)
	for _, p := range parts {
		path += "/" + p
	}
	return path
}
