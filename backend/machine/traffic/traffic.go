// Package traffic knows the connections of a machine that are not over, and has a person asked
// about hosts.
package traffic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// maxAsks is how many hosts of a machine a person is asked about at once: nobody reads dozens of
// questions, and one among them may be meant to slip through.
const maxAsks = 5

// Traffic is one machine's. Its zero value has seen nothing. All methods may be called from any
// goroutine.
type Traffic struct {
	mu   sync.Mutex // guards what follows
	live map[int64]machine.Connection
	asks map[int64]chan machine.Answer // by the connection's ID
	once map[string]int                // hosts that may be reached while an instruction runs
	no   map[string]bool               // hosts that were denied; until the policy is changed

	of      int               // the instruction that refused is about
	refused map[string]string // why it did not get to a host, by the host
}

// mostRefused is how many hosts an instruction is told of that it did not get to.
const mostRefused = 3

// Note takes note of what has become of a connection.
func (t *Traffic) Note(c machine.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.State == machine.ConnectionDenied && c.Seq != nil {
		t.refuse(*c.Seq, c.Host, c.Reason)
	}
	if c.State.Over() {
		delete(t.live, c.ID)
		return
	}
	if t.live == nil {
		t.live = map[int64]machine.Connection{}
	}
	t.live[c.ID] = c
}

// refuse is called with mu held.
func (t *Traffic) refuse(seq int, host, why string) {
	if t.refused == nil || t.of != seq {
		t.of, t.refused = seq, map[string]string{}
	}
	if _, known := t.refused[host]; known || len(t.refused) < mostRefused {
		t.refused[host] = why
	}
}

// Refused says why an instruction that ends now did not get to hosts, a sentence for each. Code
// that gives up before somebody answers does not learn the reason itself.
func (t *Traffic) Refused(seq int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.asks {
		if c := t.live[id]; c.Seq != nil && *c.Seq == seq {
			t.refuse(seq, c.Host, unanswered(c.Host))
		}
	}
	if t.of != seq {
		return nil
	}
	var sentences []string
	for _, host := range slices.Sorted(maps.Keys(t.refused)) {
		sentences = append(sentences, t.refused[host])
	}
	return sentences
}

func unanswered(host string) string { return "Nobody answered about " + host + "." }

// Live are the connections that are not over, those before one where before is not 0, in no order.
func (t *Traffic) Live(before int64) []machine.Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	live := make([]machine.Connection, 0, len(t.live))
	for _, c := range t.live {
		if before == 0 || c.ID < before {
			live = append(live, c)
		}
	}
	return live
}

// Ask waits for a person's answer about a connection, which everybody has been told of. It returns
// why the connection is refused, empty where it is not.
func (t *Traffic) Ask(ctx context.Context, c machine.Connection, patience time.Duration) (refusal string) {
	answered, refusal, known := t.question(c)
	if known {
		return refusal
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.asks, c.ID)
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer := <-answered:
		if answer == machine.Deny {
			return denied(c.Host)
		}
		return ""
	case <-timer.C:
		return "This machine asks a person before it reaches a new host, and nobody answered about " + c.Host + " in time."
	case <-ctx.Done():
		return unanswered(c.Host)
	}
}

// question opens one, unless the answer is known.
func (t *Traffic) question(c machine.Connection) (answered chan machine.Answer, refusal string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq, ok := t.once[c.Host]; ok && c.Seq != nil && *c.Seq == seq {
		return nil, "", true
	}
	if t.no[c.Host] {
		return nil, denied(c.Host), true
	}
	hosts := map[string]bool{}
	for id := range t.asks {
		if other := t.live[id].Host; other != c.Host {
			hosts[other] = true
		}
	}
	if len(hosts) >= maxAsks {
		return nil, fmt.Sprintf("This machine asks a person before it reaches a new host, and waits for answers about %d others. Try %s again when they are there.", maxAsks, c.Host), true
	}
	answered = make(chan machine.Answer, 1)
	if t.asks == nil {
		t.asks = map[int64]chan machine.Answer{}
	}
	t.asks[c.ID] = answered
	return answered, "", false
}

func denied(host string) string { return "A person has denied this machine " + host + "." }

// Asking returns a connection that waits for an answer; ok is false where it does not.
func (t *Traffic) Asking(connection int64) (c machine.Connection, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[connection], t.asks[connection] != nil
}

// Answer answers the question about a connection, and about all others to the same host.
func (t *Traffic) Answer(c machine.Connection, answer machine.Answer) {
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
}

// Forget makes the machine ask again, when its policy is changed.
func (t *Traffic) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.once, t.no = nil, nil
}
