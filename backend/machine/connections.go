package machine

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// headlessAsk is how long a connection waits for a person where no window is open that could show the question; attendedAsk where one is.
	headlessAsk = 30 * time.Second
	attendedAsk = 2 * time.Minute
	// maxAsks is how many hosts of a machine a person is asked about at once: nobody reads dozens of questions, and one among them may be meant to slip through.
	maxAsks = 5

	// DefaultConnectionLimit is how many connections a list has where nothing else is said.
	DefaultConnectionLimit = 100
	// MaxConnectionLimit is how many it has at most.
	MaxConnectionLimit = 1000
	// KeptConnections is how many connections of a machine that are over are kept on record; the oldest go.
	KeptConnections = 5000
)

// traffic are a machine's connections that are not over, and what was answered about hosts.
type traffic struct {
	mu   sync.Mutex // guards what follows
	live map[int64]Connection
	asks map[int64]chan Answer // by the connection's ID
	once map[string]int        // hosts that may be reached while an instruction runs
	no   map[string]bool       // hosts that were denied; until the policy is changed
}

// carry serves a connection that code in the machine has opened.
func (e *entry) carry(conn net.Conn) {
	if e.s.network == nil || !e.s.enter() {
		conn.Close()
		return
	}
	defer e.s.group.Done()
	e.s.network.Carry(e.s.ctx, conn, Visit{
		Machine: e.id, Policy: e.networkPolicy, Begin: e.beginConnection, Ask: e.askAbout, Tell: e.tellConnection,
	})
}

// networkPolicy is what holds for the machine now.
func (e *entry) networkPolicy() NetworkPolicy {
	e.mu.Lock()
	own := e.rec.Network
	e.mu.Unlock()
	return own.over(e.s.set.Load().Network)
}

func (e *entry) beginConnection(host string, port int) Connection {
	c := Connection{ID: e.s.connections.Add(1), Host: host, Port: port, StartedAt: time.Now().UTC()}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != nil {
		seq := e.run.Seq
		c.Seq = &seq
	}
	return c
}

// tellConnection takes note of what has become of a connection.
func (e *entry) tellConnection(c Connection) {
	t := &e.traffic
	t.mu.Lock()
	if c.State.Over() {
		delete(t.live, c.ID)
	} else {
		if t.live == nil {
			t.live = map[int64]Connection{}
		}
		t.live[c.ID] = c
	}
	t.mu.Unlock()
	if c.State.Over() {
		err := e.s.store.Write(context.WithoutCancel(e.s.ctx), func(w Writer) error { return w.AddConnection(e.id, c) })
		if err != nil {
			e.log().Warn("a connection is not recorded", "err", err)
			e.s.health.failed(err)
		}
	}
	e.s.hub.publish(Event{Type: EventConnection, Machine: &Machine{ID: e.id, Name: e.Name()}, Connection: &c})
}

// askAbout waits for a person's answer about a connection, which everybody has been told of.
func (e *entry) askAbout(ctx context.Context, c Connection) (refusal string) {
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
	answered := make(chan Answer, 1)
	if t.asks == nil {
		t.asks = map[int64]chan Answer{}
	}
	t.asks[c.ID] = answered
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.asks, c.ID)
		t.mu.Unlock()
	}()
	patience := headlessAsk
	if e.s.hub.watched() {
		patience = attendedAsk
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer := <-answered:
		if answer == Deny {
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
func (e *entry) Answer(ctx context.Context, connection int64, answer Answer) error {
	t := &e.traffic
	t.mu.Lock()
	c, asking := t.live[connection]
	asking = asking && t.asks[connection] != nil
	t.mu.Unlock()
	if !asking {
		return conflict("That connection of %s does not wait for an answer any more.", e.Name())
	}
	var err error
	switch answer {
	case AllowMachine:
		err = e.approve(ctx, c.Host)
	case AllowAlways:
		if e.s.approve == nil {
			return conflict("This cannot be allowed for all machines here.")
		}
		err = e.s.approve(c.Host)
	case AllowOnce, Deny:
	default:
		return invalid("An answer is once, machine, always or deny, not %q.", clip(string(answer), 40))
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case answer == Deny:
		if t.no == nil {
			t.no = map[string]bool{}
		}
		t.no[c.Host] = true
	case answer == AllowOnce && c.Seq != nil:
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
	e.mu.Lock()
	defer e.mu.Unlock()
	next := e.rec.Network
	if slices.Contains(next.Approved, host) {
		return nil
	}
	next.Approved = append(slices.Clone(next.Approved), host)
	if err := next.check(); err != nil {
		return err
	}
	if err := e.save(ctx, func(r *MachineRecord) { r.Network = next }); err != nil {
		return err
	}
	e.publish()
	return nil
}

// forgetAnswers makes the machine ask again, when its policy is changed.
func (t *traffic) forgetAnswers() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.once, t.no = nil, nil
}

// NetworkState is what holds for a machine's network.
type NetworkState struct {
	Own       NetworkPolicy // the machine's
	Effective NetworkPolicy // what follows from it and the settings
	Upstream  string        // the proxy that this computer needs, which resolves names by itself; "" for none
}

// Network says what holds for a machine's network.
func (e *entry) Network(_ context.Context) (NetworkState, error) {
	state := NetworkState{Own: e.Machine().Network, Effective: e.networkPolicy()}
	if e.s.network != nil {
		state.Upstream = e.s.network.Upstream()
	}
	return known(e, state, nil)
}

// Connections returns a machine's connections, newest first: those that are not over, and of the others those on record.
func (e *entry) Connections(ctx context.Context, q ConnectionQuery) ([]Connection, error) {
	if q.Limit < 0 || q.Before < 0 {
		return nil, invalid("The limit and the place in the list must be positive.")
	}
	q.Limit = min(cmp.Or(q.Limit, DefaultConnectionLimit), MaxConnectionLimit)
	e.traffic.mu.Lock()
	live := make([]Connection, 0, len(e.traffic.live))
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
	slices.SortStableFunc(all, func(a, b Connection) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b Connection) bool { return a.ID == b.ID }) // it may have ended in between
	return known(e, all[:min(len(all), q.Limit)], nil)
}
