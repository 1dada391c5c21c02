package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forevervm/desktop/backend/wire"
)

// Wire speaks the public ForeverVM protocol, which the daemon and the hosted service both serve.
type Wire struct{ c *Client }

// Wire returns this client's view of the public protocol.
func (c *Client) Wire() Wire { return Wire{c} }

// Whoami returns the account that the token belongs to.
func (w Wire) Whoami(ctx context.Context) (wire.Whoami, error) {
	var out wire.Whoami
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: "/v1/whoami", repeatable: true}, &out)
	return out, err
}

// New makes a machine and returns its name.
func (w Wire) New(ctx context.Context, n wire.NewMachine) (string, error) {
	var out wire.NewMachineResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: "/v1/machine/new", json: n}, &out)
	return out.MachineName, err
}

// List returns the machines that carry all of these tags, newest first.
func (w Wire) List(ctx context.Context, tags map[string]string) ([]wire.Machine, error) {
	var out wire.ListMachinesResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: "/v1/machine/list", json: wire.ListMachines{Tags: tags}, repeatable: true}, &out)
	return out.Machines, err
}

// Exec queues an instruction.
func (w Wire) Exec(ctx context.Context, machine string, e wire.Exec) (wire.ExecResponse, error) {
	var out wire.ExecResponse
	_, err := w.c.call(ctx, request{method: http.MethodPost, path: wirePath(machine, "exec"), json: e}, &out)
	return out, err
}

// Result waits for an instruction's end and returns how it ended.
func (w Wire) Result(ctx context.Context, machine string, seq int) (wire.ExecResult, error) {
	var out wire.ExecResultResponse
	_, err := w.c.call(ctx, request{method: http.MethodGet, path: wirePath(machine, "exec", strconv.Itoa(seq), "result"), repeatable: true}, &out)
	return out.Result, err
}

// StreamResult calls yield with each line that an instruction puts out, from its first one on, and returns how it ended. After a
// broken connection it goes on with the next line. An error of yield ends it and is returned as it is.
func (w Wire) StreamResult(ctx context.Context, machine string, seq int, yield func(wire.Chunk) error) (wire.ExecResult, error) {
	r := request{method: http.MethodGet, path: wirePath(machine, "exec", strconv.Itoa(seq), "stream-result"), repeatable: true}
	var done *wire.ExecResult
	for next := 0; ; {
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
		if err := pause(ctx, firstBackoff); err != nil {
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
