package service

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

const (
	// headlessAsk is how long a connection waits for a person where no window is open that could show the question; attendedAsk where one is.
	headlessAsk = 30 * time.Second
	attendedAsk = 2 * time.Minute
	// maxAsks is how many hosts of a machine a person is asked about at once: nobody reads dozens of questions, and one among them may be meant to slip through.
	maxAsks = 5
)

// traffic are a machine's connections that are not over, and what was answered about hosts.
type traffic struct {
	mu   sync.Mutex // guards what follows
	live map[int64]machine.Connection
	asks map[int64]chan machine.Answer // by the connection's ID
	once map[string]int                // hosts that may be reached while an instruction runs
	no   map[string]bool               // hosts that were denied; until the policy is changed
}

// carry serves a connection that code in the machine has opened.
func (e *entry) carry(conn net.Conn) {
	if e.s.network == nil || !e.s.enter() {
		conn.Close()
		return
	}
	defer e.s.group.Done()
	e.s.network.Carry(e.s.ctx, conn, machine.Visit{
		Machine: e.id, Policy: e.networkPolicy, Begin: e.beginConnection, Ask: e.askAbout, Tell: e.tellConnection,
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
	t := &e.traffic
	t.mu.Lock()
	if c.State.Over() {
		delete(t.live, c.ID)
	} else {
		if t.live == nil {
			t.live = map[int64]machine.Connection{}
		}
		t.live[c.ID] = c
	}
	t.mu.Unlock()
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
	t := &e.traffic
	t.mu.Lock()
	if seq, ok := t.once[c.Host]; ok && c.Seq != nil && *c.Seq == seq {
		t.mu.Unlock()
		return ""
	}
	if t.no[c.Host] {
		t.mu.Unlock()
		return "A person has denied this machine " + c.Host + "."
	}
	if t.asksAboutOthers(c.Host) >= maxAsks {
		t.mu.Unlock()
		return fmt.Sprintf("This machine asks a person before it reaches a new host, and waits for answers about %d others. Try %s again when they are there.", maxAsks, c.Host)
	}
	answered := make(chan machine.Answer, 1)
	if t.asks == nil {
		t.asks = map[int64]chan machine.Answer{}
	}
	t.asks[c.ID] = answered
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.asks, c.ID)
		t.mu.Unlock()
	}()
	patience := headlessAsk
	if e.s.hub.Watched() {
		patience = attendedAsk
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer := <-answered:
		if answer == machine.Deny {
			return "A person has denied this machine " + c.Host + "."
		}
		return ""
	case <-timer.C:
		return "This machine asks a person before it reaches a new host, and nobody answered about " + c.Host + " in time."
	case <-ctx.Done():
		return "Nobody answered about " + c.Host + "."
	}
}

// asksAboutOthers is about how many hosts a person is asked but this one. mu is held.
func (t *traffic) asksAboutOthers(host string) int {
	hosts := map[string]bool{}
	for id := range t.asks {
		if other := t.live[id].Host; other != host {
			hosts[other] = true
		}
	}
	return len(hosts)
}

// Answer answers the question about a connection that waits, and about all others of its machine to the same host.
func (e *entry) Answer(ctx context.Context, connection int64, answer machine.Answer) error {
	t := &e.traffic
	t.mu.Lock()
	c, asking := t.live[connection]
	asking = asking && t.asks[connection] != nil
	t.mu.Unlock()
	if !asking {
		return machine.Conflict("That connection of %s does not wait for an answer any more.", e.Name())
	}
	var err error
	switch answer {
	case machine.AllowMachine:
		err = e.approve(ctx, c.Host)
	case machine.AllowAlways:
		if e.s.approve == nil {
			return machine.Conflict("This cannot be allowed for all machines here.")
		}
		err = e.s.approve(c.Host)
	case machine.AllowOnce, machine.Deny:
	default:
		return machine.Invalid("An answer is once, machine, always or deny, not %q.", naming.Clip(string(answer), 40))
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case answer == machine.Deny:
		if t.no == nil {
			t.no = map[string]bool{}
		}
		t.no[c.Host] = true
	case answer == machine.AllowOnce && c.Seq != nil:
		if t.once == nil {
			t.once = map[string]int{}
		}
		t.once[c.Host] = *c.Seq
	}
	for id, waiting := range t.asks {
		if t.live[id].Host == c.Host {
			select {
			case waiting <- answer:
			default:
			}
		}
	}
	return nil
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

// forgetAnswers makes the machine ask again, when its policy is changed.
func (t *traffic) forgetAnswers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.once, t.no = nil, nil
}

// Network says what holds for a machine's network.
func (e *entry) Network(_ context.Context) (machine.NetworkState, error) {
	state := machine.NetworkState{Own: e.Machine().Network, Effective: e.networkPolicy()}
	if e.s.network != nil {
		state.Upstream = e.s.network.Upstream()
	}
	return known(e, state, nil)
}

// Connections returns a machine's connections, newest first: those that are not over, and of the others those on record.
func (e *entry) Connections(ctx context.Context, q machine.ConnectionQuery) ([]machine.Connection, error) {
	if q.Limit < 0 || q.Before < 0 {
		return nil, machine.Invalid("The limit and the place in the list must be positive.")
	}
	q.Limit = min(cmp.Or(q.Limit, machine.DefaultConnectionLimit), machine.MaxConnectionLimit)
	e.traffic.mu.Lock()
	live := make([]machine.Connection, 0, len(e.traffic.live))
	for _, c := range e.traffic.live {
		if q.Before == 0 || c.ID < q.Before {
			live = append(live, c)
		}
	}
	e.traffic.mu.Unlock()
	past, err := e.s.store.Connections(ctx, e.id, q)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(live, past)
	slices.SortStableFunc(all, func(a, b machine.Connection) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b machine.Connection) bool { return a.ID == b.ID }) // it may have ended in between
	return known(e, all[:min(len(all), q.Limit)], nil)
}
