package service_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// visited is a network that goes nowhere, and keeps who came.
type visited struct{ visit machine.Visit }

func answer(h machine.Handle, ctx context.Context, connection int64, a machine.Answer) error {
	_, err := h.Answer(ctx, connection, a)
	return err
}

func (v *visited) Carry(_ context.Context, conn net.Conn, visit machine.Visit) {
	v.visit = visit
	conn.Close()
}

func (v *visited) Belongings(machine.ID, string) (map[string]string, []byte) {
	return map[string]string{"A": "1"}, []byte("authorities")
}

func (v *visited) Upstream() string { return "proxy.corp:8080" }

// visitFrom has a machine open a connection.
func (w *world) visitFrom(m machine.Machine) machine.Visit {
	w.t.Helper()
	w.engine.mu.Lock()
	spec := w.engine.specs[m.ID]
	w.engine.mu.Unlock()
	if spec.Connect == nil || spec.Env["A"] != "1" || string(spec.Authorities) != "authorities" {
		w.t.Fatalf("the engine is told %+v", spec)
	}
	inside, outside := net.Pipe()
	inside.Close()
	spec.Connect(outside)
	visit := w.network.(*visited).visit
	if visit.Machine != m.ID {
		w.t.Errorf("%s visits as %s", m.ID, visit.Machine)
	}
	return visit
}

func inTimeWithNetwork(t *testing.T, settings service.Settings, f func(w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: t.Context(), dir: dir, engine: newScript(), settings: settings, network: &visited{}}
		w.open()
		defer w.engine.endAll()
		f(w)
		w.close()
	})
}

func TestNetworkPolicies(t *testing.T) {
	settings := service.Settings{Network: machine.NetworkPolicy{Hosts: []string{"all.example"}, Approved: []string{"agreed.example"}}}
	inTimeWithNetwork(t, settings, func(w *world) {
		a := w.create("a")
		visit := w.visitFrom(a)
		if p := visit.Policy(); p.Mode != machine.NetworkPublic || !slices.Equal(p.Hosts, []string{"all.example"}) {
			t.Errorf("by default: %+v", p)
		}
		change := func(mode machine.NetworkMode, hosts ...string) error {
			_, err := w.at("a").Update(w.ctx, machine.Change{Network: &machine.NetworkChange{Mode: &mode, Hosts: &hosts}})
			return err
		}
		w.ok(change(machine.NetworkList, "one.example"))
		if p := visit.Policy(); p.Mode != machine.NetworkList || !slices.Equal(p.Hosts, []string{"one.example"}) || !slices.Equal(p.Approved, []string{"agreed.example"}) {
			t.Errorf("while it runs: %+v", p)
		}
		for _, wrong := range []string{"", "http://x.example", "a b", "1.2.3.4/40", "x:99999", "x:", "-x.example", "*.", "a.*.b", strings.Repeat("a", 64) + ".example", "[::1"} {
			if err := change(machine.NetworkList, wrong); !errors.Is(err, machine.ErrInvalid) {
				t.Errorf("%q is a host: %v", wrong, err)
			}
		}
		if err := change("everything"); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("a policy that there is not: %v", err)
		}
		fork, err := w.at("a").Fork(w.ctx, "", machine.CreateOptions{Name: "b"})
		w.ok(err)
		if fork.Network.Mode != machine.NetworkList || !slices.Equal(fork.Network.Hosts, []string{"one.example"}) {
			t.Errorf("a fork has %+v", fork.Network)
		}
		w.close()
		w.open()
		state, err := w.at("a").Network(w.ctx)
		if err != nil || state.Own.Mode != machine.NetworkList || state.Effective.Approved[0] != "agreed.example" || state.Upstream != "proxy.corp:8080" {
			t.Errorf("after a restart: %+v, %v", state, err)
		}
	})
}

// A machine that asks about a hundred hosts does not bury a person in questions.
func TestFewQuestionsAtATime(t *testing.T) {
	inTimeWithNetwork(t, service.Settings{Network: machine.NetworkPolicy{Mode: machine.NetworkAsk}}, func(w *world) {
		visit := w.visitFrom(w.create("a"))
		ask := func(host string) (machine.Connection, chan string) {
			c := visit.Begin(host, 443)
			c.State = machine.ConnectionAsking
			visit.Tell(c)
			said := make(chan string, 1)
			go func() { said <- visit.Ask(w.ctx, c) }()
			synctest.Wait()
			return c, said
		}
		first, saidFirst := ask("h0.example")
		for i := range 4 {
			ask(fmt.Sprintf("h%d.example", i+1))
		}
		begun := time.Now()
		for i := range 95 {
			_, said := ask(fmt.Sprintf("more%d.example", i))
			if why := <-said; !strings.Contains(why, "waits for answers about 5 others") || time.Since(begun) > 0 {
				t.Fatalf("%q after %v", why, time.Since(begun))
			}
		}
		_, saidAgain := ask("h0.example") // the same question
		w.ok(answer(w.at("a"), w.ctx, first.ID, machine.AllowOnce))
		if a, b := <-saidFirst, <-saidAgain; a+b != "" {
			t.Errorf("%q, %q", a, b)
		}
		next, saidNext := ask("next.example")
		w.ok(answer(w.at("a"), w.ctx, next.ID, machine.AllowOnce))
		if why := <-saidNext; why != "" {
			t.Errorf("when one was answered: %q", why)
		}
		w.pass(time.Minute)
	})
}

func TestAsking(t *testing.T) {
	inTimeWithNetwork(t, service.Settings{Network: machine.NetworkPolicy{Mode: machine.NetworkAsk}}, func(w *world) {
		var always []string
		w.approve = func(host string) error { always = append(always, host); return nil }
		w.close()
		w.open()
		a := w.create("a")
		in := w.begun("a", "hang")
		visit := w.visitFrom(a)
		ask := func(host string) (c machine.Connection, said chan string) {
			c = visit.Begin(host, 443)
			c.State = machine.ConnectionAsking
			visit.Tell(c)
			said = make(chan string, 1)
			go func() { said <- visit.Ask(w.ctx, c) }()
			synctest.Wait()
			return c, said
		}
		c, said := ask("nobody.example")
		if c.Seq == nil || *c.Seq != in.Seq {
			t.Errorf("it belongs to %v", c.Seq)
		}
		start := time.Now()
		if why := <-said; !strings.Contains(why, "nobody answered") || time.Since(start) != 2*time.Minute {
			t.Errorf("with nobody there: %q after %v", why, time.Since(start))
		}

		watching, leave := context.WithCancel(w.ctx)
		defer leave()
		events := w.Subscribe(watching, "")
		first, saidFirst := ask("once.example")
		_, saidSecond := ask("once.example")
		_, saidOther := ask("other.example")
		w.pass(time.Minute)
		asking, err := w.at("a").Connections(w.ctx, machine.ConnectionQuery{})
		if err != nil || len(asking) != 4 || asking[0].Host != "other.example" || asking[0].State != machine.ConnectionAsking {
			t.Errorf("%+v, %v", asking, err)
		}
		w.ok(answer(w.at("a"), w.ctx, first.ID, machine.AllowOnce))
		if a, b := <-saidFirst, <-saidSecond; a != "" || b != "" {
			t.Errorf("allowed once: %q, %q", a, b)
		}
		if _, said := ask("once.example"); <-said != "" {
			t.Error("once is not the whole instruction")
		}
		if err := answer(w.at("a"), w.ctx, first.ID, machine.AllowOnce); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("answered again: %v", err)
		}
		if err := answer(w.at("a"), w.ctx, asking[0].ID, "perhaps"); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("perhaps: %v", err)
		}
		w.ok(answer(w.at("a"), w.ctx, asking[0].ID, machine.Deny))
		if why := <-saidOther; !strings.Contains(why, "denied") {
			t.Errorf("denied: %q", why)
		}
		if _, said := ask("other.example"); !strings.Contains(<-said, "denied") {
			t.Error("who was denied is asked about again")
		}
		mine, saidMine := ask("mine.example")
		w.ok(answer(w.at("a"), w.ctx, mine.ID, machine.AllowMachine))
		all, saidAll := ask("all.example")
		w.ok(answer(w.at("a"), w.ctx, all.ID, machine.AllowAlways))
		if a, b := <-saidMine, <-saidAll; a+b != "" || !slices.Equal(always, []string{"all.example"}) {
			t.Errorf("%q, %q, %v", a, b, always)
		}
		if p := visit.Policy(); !slices.Equal(p.Approved, []string{"mine.example"}) {
			t.Errorf("approved of: %v", p.Approved)
		}

		done := visit.Begin("done.example", 80)
		ended := time.Now()
		done.State, done.Address, done.Sent, done.Received, done.EndedAt = machine.ConnectionClosed, "203.0.113.1", 3, 4, &ended
		visit.Tell(done)
		synctest.Wait()
		for ev := range events { // hangs where nobody is told
			if ev.Type == machine.EventConnection && ev.Connection.Host == "done.example" && ev.Machine.Name == "a" {
				break
			}
		}
		leave()
		_, saidLate := ask("late.example")
		w.ok(w.at("a").Interrupt(w.ctx)) // as code that gives up before somebody answers
		if in := w.wait("a", in.Seq); in.Status != machine.StatusError || !strings.Contains(in.Notice, "Nobody answered about late.example.") {
			t.Errorf("it is told %q", in.Notice)
		}
		<-saidLate
		w.close()
		w.open()
		kept, err := w.at("a").Connections(w.ctx, machine.ConnectionQuery{Limit: 1})
		if err != nil || len(kept) != 1 || kept[0].Host != "done.example" || kept[0].Address != "203.0.113.1" || kept[0].Received != 4 || kept[0].Seq == nil {
			t.Errorf("on record: %+v, %v", kept, err)
		}
		if more, err := w.at("a").Connections(w.ctx, machine.ConnectionQuery{Before: kept[0].ID}); err != nil || len(more) != 0 {
			t.Errorf("before that: %+v, %v", more, err)
		}
	})
}
