//go:build linux && real && soak

package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// An attacker that comes as several apps makes 1,000 machines, as fast as it may, and uses every
// fourth, which is more than fits into memory; all of them would need 100 GB of disk. The computer
// keeps its floor of free memory, and another program's machine answers as usual. It takes ten
// minutes, as there are 120 new machines a minute at most.
func TestAThousandMachines(t *testing.T) {
	const all, apps, used = 1000, 5, 4
	home := connecttest.Home(t)
	c := connecttest.Start(t, home).Client("test")
	defer c.Close()
	total, free := memory(t)
	floor := total * 15 / 100
	if free < floor*3/2 {
		t.Fatalf("only %d MiB of this computer's memory are free: this shows nothing", free>>20)
	}
	mine := newNeighbour(t, c)
	usual := mine.usually()

	var made, done atomic.Int32
	var attack sync.WaitGroup
	for range apps {
		a := start(t, "FOREVERVM_HOME="+home)
		a.initialize()
		attack.Go(func() {
			var answers []<-chan json.RawMessage
			for made.Load() < all {
				r := a.call("create-python-repl", map[string]any{})
				if r.IsError {
					time.Sleep(500 * time.Millisecond) // as an attacker would
					continue
				}
				if made.Add(1)%used == 0 {
					answers = append(answers, a.send("tools/call", map[string]any{"name": "run-python-in-repl", "arguments": map[string]any{
						"replId": r.Content[0].Text, "pythonCode": "x = b'x' * (20 << 20)\n'done'",
					}}))
				}
			}
			for _, answer := range answers {
				var r result
				if a.wait(answer, &r); r.text() == "'done'" {
					done.Add(1)
				} else if !strings.Contains(r.text(), "call read-output") {
					t.Errorf("it is told %q", r.text())
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { attack.Wait(); close(over) }()
	var slow []time.Duration
	least := free
	for attacked := true; attacked; {
		select {
		case <-over:
			attacked = false
		default:
			slow = append(slow, mine.ask())
			_, now := memory(t)
			least = min(least, now)
		}
	}
	t.Logf("%d machines were made, %d of %d answered in time. At least %d MiB of %d were free, the floor is %d. Another machine took %v, usually %v.",
		made.Load(), done.Load(), all/used, least>>20, total>>20, floor>>20, median(slow), usual)
	// Below it machines go that have rested. For moments there is less: those that have just come
	// in still grow, and starts and saves take memory of their own.
	if least < floor*4/5 {
		t.Errorf("%d MiB were free, the floor is %d", least>>20, floor>>20)
	}
	mine.answeredIn(slow, usual)
	// The daemon saves what is in memory when it ends: leave it little.
	if _, err := c.ChangeSettings(t.Context(), map[string]any{"max_in_memory_mb": 1000}); err != nil {
		t.Fatal(err)
	}
	for awake := all; awake > 10; mine.ask() {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		awake = st.InMemory
	}
}

// memory is how many bytes the computer has, and how many are free for programs.
func memory(t *testing.T) (total, available int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		_, _ = fmt.Sscanf(line, "MemTotal: %d kB", &total)
		_, _ = fmt.Sscanf(line, "MemAvailable: %d kB", &available)
	}
	return total << 10, available << 10
}
