package service_test

import (
	"testing"
	"testing/synctest"

	"github.com/forevervm/desktop/backend/machine"
)

// A machine of somebody of a team stays theirs, over forks and restarts, and has no part in the
// folder of the daemon's user.
func TestAMachineStaysItsOwners(t *testing.T) {
	inTime(t, func(w *world) {
		x := &slowExchange{}
		w.close()
		w.exchange = x
		w.open()
		w.create("mine")
		for _, name := range []string{"anna", "annas-other"} {
			_, err := w.Create(w.ctx, machine.CreateOptions{Name: name, Owner: "person-a"})
			w.ok(err)
		}
		w.run("anna", "print inbox")
		synctest.Wait()
		if x.filled != 0 || len(x.collected) != 0 {
			t.Errorf("its inbox was filled %d times, its outbox emptied of %v", x.filled, x.collected)
		}
		if _, err := w.at("anna").Results(); err == nil {
			t.Error("it has results in the folder of the daemon's user")
		}
		fork, err := w.at("anna").Fork(w.ctx, "", machine.CreateOptions{Name: "fork"})
		w.ok(err)
		if fork.Owner != "person-a" {
			t.Errorf("the fork is %q's", fork.Owner)
		}
		w.close()
		w.open()
		for owner, want := range map[string]int{"": 1, "person-a": 3, "person-b": 0} {
			page, err := w.List(w.ctx, machine.Filter{Owner: &owner})
			w.ok(err)
			if len(page.Items) != want {
				t.Errorf("%q has %d machines, not %d", owner, len(page.Items), want)
			}
		}
	})
}
