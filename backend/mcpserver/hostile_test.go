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
	mine, err := c.CreateMachine(t.Context(), api.NewMachine{})
	must(err)
	ask := func() time.Duration {
		t.Helper()
		begun := time.Now()
		in, _, err := c.Execute(t.Context(), mine.Name, api.Execute{Code: "1 + 1"})
		must(err)
		if in, err = c.Wait(t.Context(), mine.Name, in.Seq); err != nil || in.Value == nil || *in.Value != "2" {
			t.Fatalf("%+v, %v", in, err)
		}
		return time.Since(begun)
	}
	median := func(n int) time.Duration {
		var all []time.Duration
		for range n {
			all = append(all, ask())
		}
		slices.Sort(all)
		return all[n/2]
	}
	ask()
	usual := median(20)

	_, err = c.ChangeSettings(t.Context(), map[string]any{"max_in_memory_mb": room})
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
		slow = append(slow, ask())
		st, err := c.Status(t.Context())
		must(err)
		most, taken = max(most, st.InMemory), max(taken, st.MemoryBytes>>20)
		told = told || strings.Contains(strings.Join(st.Warnings, " "), "machines wait to come into it")
		page, err := c.Machines(t.Context(), client.MachineFilter{Limit: 1000})
		must(err)
		return !slices.ContainsFunc(page.Items, func(m api.Machine) bool { return m.Queued > 0 || m.RunningSeq != nil })
	})
	slices.Sort(slow)
	t.Logf("usually it takes %v; meanwhile %v, of %d at most %v. At most %d machines were in memory, and took %d MiB.", usual, slow[len(slow)/2], len(slow), slow[len(slow)-1], most, taken)
	for i, answer := range answers {
		var r result
		if a.wait(answer, &r); r.text() != "'done'" && !strings.Contains(r.text(), "call read-output") {
			t.Errorf("%s: %+v", repls[i], r)
		}
	}
	if most > room/100+1 || taken > room*11/10 || !told {
		t.Errorf("%d machines were in memory at once and took %d MiB; that others wait is told: %v", most, taken, told)
	}
	// It is a computer that others use, too: a few milliseconds are nothing.
	if slow[len(slow)/2] > 2*usual+20*time.Millisecond {
		t.Errorf("another program's machine took %v to answer, %v before", slow[len(slow)/2], usual)
	}
}
