package service

import (
	"cmp"
	"context"
	"net"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// askPatience is how long a connection waits for a person's answer. The window asks, a client of
// MCP that can, and the tray.
const askPatience = 2 * time.Minute

// carry serves a connection that code in the machine has opened.
func (e *entry) carry(conn net.Conn) {
	if e.s.network == nil || !e.s.enter() {
		conn.Close()
		return
	}
	defer e.s.group.Done()
	e.s.network.Carry(e.s.ctx, conn, machine.Visit{
		Machine: e.id, Owner: e.owner, Name: e.Name, Policy: e.networkPolicy, Begin: e.beginConnection, Ask: e.askAbout, Tell: e.tellConnection,
	})
}

// networkPolicy is what holds for the machine now.
func (e *entry) networkPolicy() machine.NetworkPolicy {
	o := e.lock()
	own := o.rec.Network
	o.unlock()
	return own.Over(e.s.set.Load().Network)
}

func (e *entry) beginConnection(host string, port int) machine.Connection {
	c := machine.Connection{ID: e.s.connections.Add(1), Host: host, Port: port, StartedAt: time.Now().UTC()}
	o := e.lock()
	defer o.unlock()
	if o.run != nil {
		seq := o.run.Seq
		c.Seq = &seq
	}
	return c
}

// tellConnection takes note of what has become of a connection.
func (e *entry) tellConnection(c machine.Connection) {
	if c.State == machine.ConnectionAsking {
		by := time.Now().UTC().Add(askPatience)
		c.AnswerBy = &by
	}
	e.traffic.Note(c)
	if c.State.Over() {
		err := e.s.store.Write(context.WithoutCancel(e.s.ctx), func(w machine.Writer) error { return w.AddConnection(e.id, c) })
		if err != nil {
			e.log().Warn("a connection is not recorded", "err", err)
			e.s.health.failed(err)
		}
	}
	e.s.hub.Publish(machine.Event{Type: machine.EventConnection, Machine: &machine.Machine{ID: e.id, Name: e.Name()}, Connection: &c})
}

// askAbout waits for a person's answer about a connection, which everybody has been told of.
func (e *entry) askAbout(ctx context.Context, c machine.Connection) (refusal string) {
	return e.traffic.Ask(ctx, c, askPatience)
}

// Answer answers the question about a connection that waits, and about all others of its machine to
// the same host, which it returns.
func (e *entry) Answer(ctx context.Context, connection int64, answer machine.Answer) (host string, err error) {
	c, asking := e.traffic.Asking(connection)
	if !asking {
		return "", machine.Conflict("That connection of %s does not wait for an answer any more.", e.Name())
	}
	switch answer {
	case machine.AllowMachine:
		err = e.approve(ctx, c.Host)
	case machine.AllowAlways:
		if e.s.approve == nil {
			return "", machine.Conflict("This cannot be allowed for all machines here.")
		}
		err = e.s.approve(c.Host)
	case machine.AllowOnce, machine.Deny:
	default:
		return "", machine.Invalid("An answer is once, machine, always or deny, not %q.", naming.Clip(string(answer), 40))
	}
	if err != nil {
		return "", err
	}
	e.traffic.Answer(c, answer)
	return c.Host, nil
}

// approve adds a host to those that the machine's person has approved of.
func (e *entry) approve(ctx context.Context, host string) error {
	o := e.lock()
	defer o.unlock()
	next := o.rec.Network
	if slices.Contains(next.Approved, host) {
		return nil
	}
	next.Approved = append(slices.Clone(next.Approved), host)
	if err := next.Check(); err != nil {
		return err
	}
	if err := o.save(ctx, func(r *machine.MachineRecord) { r.Network = next }); err != nil {
		return err
	}
	o.publish()
	return nil
}

// Network says what holds for a machine's network.
func (e *entry) Network(_ context.Context) (machine.NetworkState, error) {
	state := machine.NetworkState{Own: e.Machine().Network, Effective: e.networkPolicy()}
	if e.s.network != nil {
		state.Upstream = e.s.network.Upstream()
	}
	return known(e, state, nil)
}

// Connections returns a machine's connections, newest first: those that are not over, and of the
// others those on record.
func (e *entry) Connections(ctx context.Context, q machine.ConnectionQuery) ([]machine.Connection, error) {
	if q.Limit < 0 || q.Before < 0 {
		return nil, machine.Invalid("The limit and the place in the list must be positive.")
	}
	q.Limit = min(cmp.Or(q.Limit, machine.DefaultConnectionLimit), machine.MaxConnectionLimit)
	live := e.traffic.Live(q.Before) // first, so that one that ends meanwhile is in one of them
	past, err := e.s.store.Connections(ctx, e.id, q)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(live, past)
	slices.SortStableFunc(all, func(a, b machine.Connection) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b machine.Connection) bool { return a.ID == b.ID }) // it may have ended in between
	return known(e, all[:min(len(all), q.Limit)], nil)
}
