//go:build linux && real

package mcpserver_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// An AI that makes many REPLs and uses all of them at once takes no more memory than there is to
// give, and another program's machine answers as before. What there is to give is what the machines
// may take together: how much the computer has free depends on what else runs on it.
func TestAHostileAppDoesNotTakeTheComputer(t *testing.T) {
	const room = 1000 // MiB: a few machines
	home := connecttest.Home(t)
	c := connecttest.Start(t, home).Client("test")
	defer c.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := newNeighbour(t, c)
	usual := mine.usually()

	_, err := c.ChangeSettings(t.Context(), map[string]any{"max_in_memory_mb": room})
	must(err)
	defer func() {
		_, err := c.ChangeSettings(t.Context(), map[string]any{"max_in_memory_mb": nil})
		must(err)
	}()
	a := start(t, "FOREVERVM_HOME="+home)
	a.initialize()
	var repls []string
	var refused string
	for range 40 {
		r := a.call("create-python-repl", map[string]any{})
		if r.IsError {
			refused = r.Content[0].Text
			break
		}
		repls = append(repls, r.Content[0].Text)
	}
	if len(repls) != 30 || !strings.Contains(refused, "this app has made 30 within a minute") {
		t.Errorf("%d were made, and then it is told %q", len(repls), refused)
	}
	if st, err := c.Status(t.Context()); err != nil || st.InMemory > 2 {
		t.Errorf("new machines are in memory: %+v, %v", st, err)
	}
	var answers []<-chan json.RawMessage
	for _, repl := range repls {
		answers = append(answers, a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{
			"replId": repl, "pythonCode": "import time\ntime.sleep(1)\n'done'",
		}}))
	}
	told, most, taken, slow := false, 0, int64(0), []time.Duration{}
	connecttest.Eventually(t, "all of them to be done", func() bool {
		slow = append(slow, mine.ask())
		st, err := c.Status(t.Context())
		must(err)
		most, taken = max(most, st.InMemory), max(taken, st.MemoryBytes>>20)
		told = told || strings.Contains(strings.Join(st.Warnings, " "), "machines wait to come into it")
		page, err := c.Machines(t.Context(), client.MachineFilter{Limit: 1000})
		must(err)
		return !slices.ContainsFunc(page.Items, func(m api.Machine) bool { return m.Queued > 0 || m.RunningSeq != nil })
	})
	t.Logf("usually it takes %v; meanwhile %v, of %d at most %v. At most %d machines were in memory, and took %d MiB.", usual, median(slow), len(slow), slices.Max(slow), most, taken)
	for i, answer := range answers {
		var r result
		if a.wait(answer, &r); r.text() != "'done'" && !strings.Contains(r.text(), "call read-output") {
			t.Errorf("%s: %+v", repls[i], r)
		}
	}
	if most > room/100+1 || taken > room*11/10 || !told {
		t.Errorf("%d machines were in memory at once and took %d MiB; that others wait is told: %v", most, taken, told)
	}
	mine.answeredIn(slow, usual)
}

// neighbour is a machine of another program's, which is asked how fast it answers.
type neighbour struct {
	t       *testing.T
	client  *client.Client
	machine string
}

func newNeighbour(t *testing.T, c *client.Client) neighbour {
	t.Helper()
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	return neighbour{t, c, m.Name}
}

// ask is how long it takes to answer.
func (n neighbour) ask() time.Duration {
	n.t.Helper()
	begun := time.Now()
	in, _, err := n.client.Execute(n.t.Context(), n.machine, api.Execute{Code: "1 + 1"})
	if err != nil {
		n.t.Fatal(err)
	}
	if in, err = n.client.Wait(n.t.Context(), n.machine, in.Seq); err != nil || in.Value == nil || *in.Value != "2" {
		n.t.Fatalf("%+v, %v", in, err)
	}
	return time.Since(begun)
}

// usually is how long it takes where nobody disturbs it.
func (n neighbour) usually() time.Duration {
	n.t.Helper()
	n.ask()
	var all []time.Duration
	for range 20 {
		all = append(all, n.ask())
	}
	return median(all)
}

// answeredIn fails where it took more than twice as long as usual. It is a computer that others
// use, too: a few milliseconds are nothing.
func (n neighbour) answeredIn(all []time.Duration, usual time.Duration) {
	n.t.Helper()
	if took := median(all); took > 2*usual+20*time.Millisecond {
		n.t.Errorf("another program's machine took %v to answer, %v before", took, usual)
	}
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }
