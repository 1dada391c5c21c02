package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/api"
)

// MachineFilter chooses machines; zero fields do not filter.
type MachineFilter struct {
	States        []string          // any of them
	Tags          map[string]string // all must match
	Engine        string
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Text          string // in name, title and tags
	Deleted       bool   // the bin instead of the others
	Cursor        string // Next of the page before
	Limit         int    // of one page; the server's default when 0
}

func (f MachineFilter) query() url.Values {
	q := url.Values{}
	for _, s := range f.States {
		q.Add("state", s)
	}
	for k, v := range f.Tags {
		q.Add("tag", k+"="+v)
	}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	set("engine", f.Engine)
	set("q", f.Text)
	set("cursor", f.Cursor)
	if !f.CreatedAfter.IsZero() {
		q.Set("created_after", f.CreatedAfter.UTC().Format(time.RFC3339Nano))
	}
	if !f.CreatedBefore.IsZero() {
		q.Set("created_before", f.CreatedBefore.UTC().Format(time.RFC3339Nano))
	}
	if f.Deleted {
		q.Set("deleted", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// Machines returns one page of machines, newest first.
func (c *Client) Machines(ctx context.Context, f MachineFilter) (api.List[api.Machine], error) {
	var page api.List[api.Machine]
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/api/machines", query: f.query(), repeatable: true}, &page)
	if errors.Is(err, ErrUnsupported) {
		return c.wireMachines(ctx, f)
	}
	return page, err
}

// AllMachines goes through every machine that the filter chooses, newest first; after an error it
// ends.
func (c *Client) AllMachines(ctx context.Context, f MachineFilter) iter.Seq2[api.Machine, error] {
	return func(yield func(api.Machine, error) bool) {
		for {
			page, err := c.Machines(ctx, f)
			if err != nil {
				yield(api.Machine{}, err)
				return
			}
			for _, m := range page.Items {
				if !yield(m, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			f.Cursor = page.Next
		}
	}
}

// Machine returns one machine; an old name works as well.
func (c *Client) Machine(ctx context.Context, name string) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name), repeatable: true}, &m)
	if errors.Is(err, ErrUnsupported) {
		return c.wireMachine(ctx, name)
	}
	return m, err
}

// CreateMachine makes a machine.
func (c *Client) CreateMachine(ctx context.Context, n api.NewMachine) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/api/machines", json: n}, &m)
	if errors.Is(err, ErrUnsupported) {
		return c.wireCreate(ctx, n)
	}
	return m, err
}

// UpdateMachine changes what is not nil in the change, all or nothing.
func (c *Client) UpdateMachine(ctx context.Context, name string, change api.MachineChange) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPatch, path: machinePath(name), json: change, repeatable: change.Name == nil}, &m)
	return m, err
}

// DeleteMachine moves a machine to the bin, where it stays restorable for the bin_retention of the
// settings.
func (c *Client) DeleteMachine(ctx context.Context, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name)}, nil)
	return err
}

// PurgeMachine removes a machine for good.
func (c *Client) PurgeMachine(ctx context.Context, name string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name), query: url.Values{"purge": {"true"}}}, nil)
	return err
}

// RestoreMachine takes a machine out of the bin.
func (c *Client) RestoreMachine(ctx context.Context, name string) (api.Machine, error) {
	return c.post(ctx, machinePath(name, "restore"), false)
}

// Swap checkpoints a machine and frees its memory.
func (c *Client) Swap(ctx context.Context, name string) (api.Machine, error) {
	return c.post(ctx, machinePath(name, "swap"), true)
}

// Share has a machine see a folder of the daemon's computer at /mnt/shared.
func (c *Client) Share(ctx context.Context, name, path string, writable bool) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPut, path: machinePath(name, "shared"), json: api.SharedFolder{Path: path, Writable: writable}, repeatable: true}, &m)
	return m, err
}

// StopSharing takes the shared folder away from a machine.
func (c *Client) StopSharing(ctx context.Context, name string) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name, "shared"), repeatable: true}, &m)
	return m, err
}

// Wake brings a machine into memory.
func (c *Client) Wake(ctx context.Context, name string) (api.Machine, error) {
	return c.post(ctx, machinePath(name, "wake"), true)
}

// Interrupt interrupts the running instruction, no matter whose it is.
func (c *Client) Interrupt(ctx context.Context, name string) (api.Machine, error) {
	m, err := c.post(ctx, machinePath(name, "interrupt"), false)
	if errors.Is(err, ErrUnsupported) {
		return c.wireInterrupt(ctx, name)
	}
	return m, err
}

func (c *Client) post(ctx context.Context, path string, repeatable bool) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: path, repeatable: repeatable}, &m)
	return m, err
}

// Fork makes a new machine from a checkpoint of another, or from its present state; zero fields are
// taken from the parent.
func (c *Client) Fork(ctx context.Context, name string, n api.NewMachine) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "fork"), json: n}, &m)
	return m, err
}

// MoveMachine has a machine live at another place, the engine of that name. It takes as long as the
// state takes to be copied.
func (c *Client) MoveMachine(ctx context.Context, name string, to api.MachineMove) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "move"), json: to}, &m)
	return m, err
}

// Rewind returns a machine to one of its checkpoints, or to the end of the branch with that name.
// What it leaves stays as a branch.
func (c *Client) Rewind(ctx context.Context, name string, to api.Rewind) (api.Machine, error) {
	var m api.Machine
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "rewind"), json: to}, &m)
	return m, err
}

// Branches returns the lines of work that a machine's rewinds left, the last left first.
func (c *Client) Branches(ctx context.Context, name string) ([]api.Branch, error) {
	var list api.List[api.Branch]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "branches"), repeatable: true}, &list)
	return list.Items, err
}

// Compare tells in what two states of a machine differ: checkpoints, or branches by their names; an
// empty `to` is the present state.
func (c *Client) Compare(ctx context.Context, name, from, to string) (api.Comparison, error) {
	var found api.Comparison
	query := url.Values{"from": {from}}
	if to != "" {
		query.Set("to", to)
	}
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "compare"), query: query, repeatable: true}, &found)
	return found, err
}

// RenameBranch gives a branch a name, under which it is kept until it is deleted.
func (c *Client) RenameBranch(ctx context.Context, name, branch, to string) error {
	_, err := c.call(ctx, request{method: http.MethodPatch, path: machinePath(name, "branches", branch), json: api.BranchChange{Name: to}}, nil)
	return err
}

// DeleteBranch deletes a branch, with the automatic checkpoints that only it has.
func (c *Client) DeleteBranch(ctx context.Context, name, branch string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name, "branches", branch)}, nil)
	return err
}

// Checkpoints returns a machine's checkpoints, newest first.
func (c *Client) Checkpoints(ctx context.Context, name string) ([]api.Checkpoint, error) {
	var list api.List[api.Checkpoint]
	_, err := c.call(ctx, request{method: http.MethodGet, path: machinePath(name, "checkpoints"), repeatable: true}, &list)
	return list.Items, err
}

// Checkpoint saves a machine's present state and keeps it until it is deleted.
func (c *Client) Checkpoint(ctx context.Context, name, label string) (api.Checkpoint, error) {
	var made api.Checkpoint
	_, err := c.call(ctx, request{method: http.MethodPost, path: machinePath(name, "checkpoints"), json: api.NewCheckpoint{Label: label}}, &made)
	return made, err
}

// DeleteCheckpoint removes a checkpoint.
func (c *Client) DeleteCheckpoint(ctx context.Context, name, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: machinePath(name, "checkpoints", id)}, nil)
	return err
}
