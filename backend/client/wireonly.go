package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/wire"
)

// What follows lets the calls that the public protocol has an answer to (create, list, run, follow,
// interrupt) work with a server that speaks nothing else, such as the hosted service. Every other
// call returns ErrUnsupported there.

func (l *link) isWireOnly() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wireOnly
}

func (c *Client) wireCreate(ctx context.Context, n api.NewMachine) (api.Machine, error) {
	if n.Name != "" || n.Title != "" || n.Engine != "" || n.Image != "" || n.ExpiresAt != nil {
		at, err := c.link.current(ctx)
		return api.Machine{}, errors.Join(unsupported(at.URL), err)
	}
	name, err := c.Wire().New(ctx, wire.NewMachine{Tags: n.Tags, MemoryMB: n.MemoryMB})
	if err != nil {
		return api.Machine{}, err
	}
	return api.Machine{Name: name, Tags: n.Tags, MemoryMB: n.MemoryMB, State: "idle", CreatedAt: time.Now().UTC()}, nil
}

func (c *Client) wireMachines(ctx context.Context, f MachineFilter) (api.List[api.Machine], error) {
	list := api.List[api.Machine]{Items: []api.Machine{}}
	if f.Deleted || f.Text != "" || f.Engine != "" || len(f.States) > 0 || !f.CreatedAfter.IsZero() || !f.CreatedBefore.IsZero() {
		at, err := c.link.current(ctx)
		return list, errors.Join(unsupported(at.URL), err)
	}
	machines, err := c.Wire().List(ctx, f.Tags)
	for _, m := range machines {
		state := "swapped"
		switch {
		case m.Running && m.Pending:
			state = "running"
		case m.Running:
			state = "idle"
		}
		list.Items = append(list.Items, api.Machine{Name: m.Name, Tags: m.Tags, State: state, CreatedAt: m.CreatedAt, ExpiresAt: m.ExpiresAt})
	}
	return list, err
}

func (c *Client) wireMachine(ctx context.Context, name string) (api.Machine, error) {
	list, err := c.wireMachines(ctx, MachineFilter{})
	if err != nil {
		return api.Machine{}, err
	}
	for _, m := range list.Items {
		if m.Name == name {
			return m, nil
		}
	}
	return api.Machine{}, &Error{Status: 404, Code: "MachineNotFound", Message: fmt.Sprintf("there is no machine called %q", name)}
}

func (c *Client) wireExecute(ctx context.Context, name string, e api.Execute) (api.Instruction, bool, error) {
	in := wire.Instruction{Code: e.Code}
	if e.TimeoutSeconds > 0 {
		in.TimeoutSeconds = &e.TimeoutSeconds
	}
	queued, err := c.Wire().Exec(ctx, name, wire.Exec{Instruction: in, Interrupt: e.Interrupt})
	return api.Instruction{Machine: name, Seq: queued.InstructionSeq, Code: e.Code, Status: "queued", QueuedAt: time.Now().UTC()}, queued.Interrupted, err
}

// wireInterrupt interrupts by the only means that the protocol has: a new instruction that does
// nothing.
func (c *Client) wireInterrupt(ctx context.Context, name string) (api.Machine, error) {
	queued, _, err := c.wireExecute(ctx, name, api.Execute{Code: "None", Interrupt: true})
	if err != nil {
		return api.Machine{}, err
	}
	if _, err := c.Wire().Result(ctx, name, queued.Seq); err != nil {
		return api.Machine{}, err
	}
	return c.wireMachine(ctx, name)
}

func (c *Client) wireInstruction(ctx context.Context, name string, seq int, wait time.Duration) (api.Instruction, error) {
	limited, cancel := context.WithTimeout(ctx, max(wait, time.Second))
	defer cancel()
	result, err := c.Wire().Result(limited, name, seq)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return api.Instruction{Machine: name, Seq: seq, Status: "running"}, nil
	}
	return wireEnded(name, seq, result), err
}

func (c *Client) wireFollow(ctx context.Context, name string, seq, from int, yield func(api.Item) error) (api.Instruction, error) {
	result, err := c.Wire().StreamResult(ctx, name, seq, func(chunk wire.Chunk) error {
		if chunk.Seq < from {
			return nil
		}
		return yield(api.Item{Index: chunk.Seq, Kind: "output", At: time.Now().UTC(), Stream: chunk.Stream, Text: chunk.Data + "\n"})
	})
	return wireEnded(name, seq, result), err
}

// wireEnded is the instruction that ended so, as far as the protocol tells.
func wireEnded(name string, seq int, r wire.ExecResult) api.Instruction {
	in := api.Instruction{Machine: name, Seq: seq, Status: "ok", RuntimeMS: r.RuntimeMS, Value: r.Value, Notice: r.Notice}
	if r.Error != nil {
		in.Status, in.Error = "error", *r.Error
	}
	if r.Data != nil && len(r.Data.PNG) > 0 {
		const mime = "image/png"
		in.Data = []api.Representation{{MIME: mime, Size: int64(len(r.Data.PNG)), Href: dataURL(mime) + base64.StdEncoding.EncodeToString(r.Data.PNG)}}
	}
	return in
}
