//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

type instruction struct {
	Seq        int
	Code       string
	Status     string
	Value      *string
	Error      string
	RolledBack bool `json:"rolled_back"`
	Notice     string
}

// Rounds of: an instruction, kill -9 of daemon, supervisor, runsc's sandbox or its gofer at a random moment, restart. No acknowledged
// record is lost, no effect is lost where only the daemon died, every rollback is told, no machine becomes
// unusable, nothing is left behind. `make soak` runs 100 rounds; FOREVERVM_SEED repeats a run.
func TestKillNine(t *testing.T) {
	rounds := 8
	if s := os.Getenv("FOREVERVM_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FOREVERVM_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("FOREVERVM_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	d := serve(t, newHome(t))
	var seen []process
	t.Cleanup(func() { // after the daemon has stopped: cleanups run in reverse
		if err := until(time.Minute, func() error {
			for _, p := range seen {
				if p.alive() {
					return fmt.Errorf("left behind: %d %s", p.pid, p.cmdline)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})

	const machines = 3
	names := make([]string, machines)
	for i := range names {
		var m struct{ Name string }
		d.mustCall("POST", "/api/machines", map[string]any{}, &m)
		names[i] = m.Name
		finish(t, d, m.Name, send(t, d, m.Name, "n = 0"))
	}
	victims := []string{"daemon", "supervisor", "runsc-sandbox", "runsc-gofer"}
	for round := range rounds {
		name, victim := names[random.IntN(machines)], victims[random.IntN(len(victims))]
		context := fmt.Sprintf("round %d, %s, kill of %s", round, name, victim)
		before := history(t, d, name)
		seq := send(t, d, name, "import time\nn += 1\nfor i in range(5): print(n, i); time.sleep(.1)\nn")
		all := descendants(t, d.cmd.Process.Pid)
		seen = append(seen, all...)

		moment := time.NewTimer(time.Duration(random.IntN(3500)) * time.Millisecond)
		<-moment.C // the random moment is what is tested: before, during, after, with or without a checkpoint in the making
		if victim == "daemon" {
			d.kill9()
			d.start()
		} else {
			for _, p := range descendants(t, d.cmd.Process.Pid) {
				seen = append(seen, p)
				if strings.Contains(p.cmdline, victim) && random.IntN(2) == 0 {
					_ = syscall.Kill(p.pid, syscall.SIGKILL)
				}
			}
		}

		done := finish(t, d, name, seq)
		if done.Code == "" || !strings.Contains(done.Code, "n += 1") {
			t.Fatalf("%s: the record is gone: %+v", context, done)
		}
		if victim == "daemon" && (done.Status != "ok" || done.RolledBack) {
			t.Errorf("%s: only the daemon died, yet: %+v", context, done)
		}
		if done.Status != "ok" && done.Error == "" {
			t.Errorf("%s: ended without a word: %+v", context, done)
		}
		check := finish(t, d, name, send(t, d, name, "n"))
		sent := 2
		if check.Status == "error" && strings.HasPrefix(check.Error, "MachineStopped") {
			// The death came only now, and this instruction was told of it. The next one finds the machine well.
			lastError := check.Error
			check = finish(t, d, name, send(t, d, name, "n"))
			sent++
			if check.Notice == "" {
				check.Notice = lastError
			}
		}
		if check.Status != "ok" || check.Value == nil {
			t.Fatalf("%s: the machine is unusable: %+v", context, check)
		}
		after := history(t, d, name)
		want, told := 0, false
		for _, in := range after {
			if in.Status == "ok" && !in.RolledBack && strings.Contains(in.Code, "n += 1") {
				want++
			}
			told = told || in.RolledBack && in.Seq < len(before) && !before[in.Seq].RolledBack
		}
		if got := *check.Value; got != strconv.Itoa(want) {
			t.Errorf("%s: n is %s, the history says %d", context, got, want)
		}
		if lost := told || done.RolledBack || done.Status != "ok"; lost && check.Notice == "" && done.Notice == "" && done.Error == "" {
			t.Errorf("%s: a rollback was not told: %+v then %+v", context, done, check)
		}
		if len(after) != len(before)+sent {
			t.Errorf("%s: %d records, want %d", context, len(after), len(before)+sent)
		}
	}
}

func send(t *testing.T, d *daemon, name, code string) int {
	t.Helper()
	var in instruction
	d.mustCall("POST", "/api/machines/"+name+"/instructions", map[string]any{"code": code}, &in)
	return in.Seq
}

func finish(t *testing.T, d *daemon, name string, seq int) instruction {
	t.Helper()
	var in instruction
	d.mustCall("GET", fmt.Sprintf("/api/machines/%s/instructions/%d?wait=120", name, seq), nil, &in)
	if in.Status == "queued" || in.Status == "running" {
		t.Fatalf("%s: instruction %d is still %s; the daemon's log:\n%s", name, seq, in.Status, d.log)
	}
	return in
}

// history is all instructions of a machine, oldest first: the index is the sequence number.
func history(t *testing.T, d *daemon, name string) []instruction {
	t.Helper()
	var page struct{ Items []instruction }
	d.mustCall("GET", "/api/machines/"+name+"/instructions?order=oldest&limit=500", nil, &page)
	return page.Items
}
