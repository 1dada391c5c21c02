//go:build linux && real

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// Rounds of: an instruction, kill -9 of daemon, supervisor, runsc's sandbox or its gofer at a
// random moment, restart. No acknowledged record is lost, no effect is lost where only the daemon
// died, every rollback is told, no machine becomes unusable, nothing is left behind. `make soak`
// runs 100 rounds; FOREVERVM_SEED repeats a run.
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

	home := newHome(t)
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

	d := serve(t, home)
	machines := make([]struct{ Name, ID string }, 3)
	for i := range machines {
		d.mustCall("POST", "/api/machines", map[string]any{}, &machines[i])
		finish(t, d, machines[i].Name, send(t, d, machines[i].Name, "n = 0"))
		d.mustCall("POST", "/api/machines/"+machines[i].Name+"/checkpoints", map[string]any{}, nil)
	}
	victims := []string{"daemon", "supervisor", "runsc-sandbox", "runsc-gofer"}
	kills := map[string]int{}
	for round := range rounds {
		m, victim := machines[random.IntN(len(machines))], victims[random.IntN(len(victims))]
		name := m.Name
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
		} else if err := until(patience, func() error {
			// Between its lives a machine has no process, until the instruction brings it back; and
			// it lives on without a gofer, so that another victim has to be chosen.
			all := processesOf(t, d, m.ID)
			seen = append(seen, all...)
			all = slices.DeleteFunc(all, func(p process) bool { return !strings.Contains(p.cmdline, victim) })
			if len(all) == 0 {
				victim = victims[1+random.IntN(len(victims)-1)]
				return errors.New("there is none")
			}
			return syscall.Kill(all[random.IntN(len(all))].pid, syscall.SIGKILL)
		}); err != nil {
			t.Fatalf("%s: none was hit: %v", context, err)
		}
		kills[victim]++
		context = fmt.Sprintf("round %d, %s, kill of %s", round, name, victim)

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
			// The death came only now, and this instruction was told of it. The next one finds the
			// machine well.
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
		if victim == "daemon" && (told || done.Notice != "" || check.Notice != "") {
			t.Errorf("%s: only the daemon died, yet a rollback is told: %+v then %+v", context, done, check)
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
	t.Logf("kills: %v", kills)

	// The next daemon has taken up what the last one left. Then there is nothing but what the
	// machines need.
	d.stop()
	d.start()
	if err := until(time.Minute, func() error {
		ids := map[string]bool{}
		for _, m := range machines {
			ids[m.ID] = true
			var kept struct{ Items []struct{ ID string } }
			d.mustCall("GET", "/api/machines/"+m.Name+"/checkpoints", nil, &kept)
			known := map[string]bool{}
			for _, c := range kept.Items {
				known[c.ID] = true
			}
			if err := holds(filepath.Join(d.home, "data", "machines", m.ID, "checkpoints"), known); err != nil {
				return err
			}
		}
		if err := holds(filepath.Join(d.home, "data", "machines"), ids); err != nil {
			return err
		}
		if waiting, _ := os.ReadDir(filepath.Join(d.home, "data", "spares")); len(waiting) > 1 {
			return fmt.Errorf("left behind: one of %v", waiting)
		}
		return filepath.WalkDir(d.home, func(path string, _ fs.DirEntry, err error) error {
			if name := filepath.Base(path); err == nil && (strings.HasSuffix(name, ".partial") || strings.HasSuffix(name, ".removed")) {
				return fmt.Errorf("left behind: %s", path)
			}
			return err
		})
	}); err != nil {
		t.Error(err)
	}
}

// processesOf are a machine's processes: its supervisor and all below it.
func processesOf(t *testing.T, d *daemon, id string) (all []process) {
	t.Helper()
	lock := filepath.Join(d.home, "data", "machines", id, "lock")
	for _, p := range descendants(t, d.cmd.Process.Pid) {
		if strings.Contains(p.cmdline, "supervisor run ") && p.hasOpen(lock) {
			all = append(append(all, p), descendants(t, p.pid)...)
		}
	}
	return all
}

// holds fails unless a folder holds exactly what is named. A checkpoint is a folder, or a file of
// that name that says which blocks it is made of, or both.
func holds(dir string, names map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".blocks")
		if !names[name] {
			return fmt.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
		}
		there[name] = true
	}
	if len(there) != len(names) {
		return fmt.Errorf("%s holds %d of %d", dir, len(there), len(names))
	}
	return nil
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
