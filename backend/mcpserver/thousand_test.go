//go:build linux && soak

package mcpserver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/sandbox"
)

// A hostile app makes 999 machines under many names, and uses all of them at once. The computer's
// free memory stays above the floor, and another program's machine answers as before. Other programs
// that take memory meanwhile fail the test: it is for a computer with nothing else to do.
func TestAThousandMachines(t *testing.T) {
	const machines, share = 999, 15 // machines beside the other program's; share is the default floor, in percent
	c := connecttest.Start(t, connecttest.Home(t)).Client("test")
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
		in, err = c.Wait(t.Context(), mine.Name, in.Seq)
		must(err)
		if in.Value == nil || *in.Value != "2" {
			t.Fatalf("%+v", in)
		}
		return time.Since(begun)
	}
	median := func(all []time.Duration) time.Duration {
		slices.Sort(all)
		return all[len(all)/2]
	}
	ask()
	var before []time.Duration
	for range 50 {
		before = append(before, ask())
	}
	total, least := sandbox.HostMemory()
	begun := least

	for i := range machines {
		app := c.As(fmt.Sprint("app ", i%50), "1.0")
		made, err := app.CreateMachine(t.Context(), api.NewMachine{})
		must(err)
		_, _, err = app.Execute(t.Context(), made.Name, api.Execute{
			Code: "import time\nx = b'1' * 20_000_000\ntime.sleep(1)",
		})
		must(err)
	}
	var meanwhile []time.Duration
	most := 0
	working := func(m api.Machine) bool { return m.Queued > 0 || m.RunningSeq != nil }
	for end := time.Now().Add(30 * time.Minute); ; {
		meanwhile = append(meanwhile, ask())
		_, free := sandbox.HostMemory()
		least = min(least, free)
		st, err := c.Status(t.Context())
		must(err)
		most = max(most, st.InMemory)
		page, err := c.Machines(t.Context(), client.MachineFilter{Limit: machines + 1})
		must(err)
		if !slices.ContainsFunc(page.Items, working) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("they are not done within half an hour")
		}
	}
	floor := total * share / 100
	t.Logf("%d MB of %d were free before, at least %d meanwhile; the floor is %d; %d machines were in memory at most",
		begun>>20, total>>20, least>>20, floor>>20, most)
	t.Logf("another's machine answered within %v before, %v meanwhile (medians)", median(before), median(meanwhile))
	if least < floor {
		t.Errorf("%d MB were free, fewer than %d", least>>20, floor>>20)
	}
	if median(meanwhile) > 2*median(before)+20*time.Millisecond {
		t.Error("another's machine answers too slowly")
	}
}
