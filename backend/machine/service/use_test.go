package service_test

import (
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// A machine is whose program used it last, or made it; also for the next daemon.
func TestAMachineKnowsWhoUsesIt(t *testing.T) {
	inTime(t, func(w *world) {
		window, claude := machine.Client{Name: "window", Version: "1"}, machine.Client{Name: "Claude Desktop", Version: "2"}
		by := func(name string, want machine.Client) {
			t.Helper()
			if got := w.get(name).Client; got != want {
				t.Errorf("%s is used by %+v, want %+v", name, got, want)
			}
		}
		_, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", Client: machine.Client{Name: "win\x1bdow", Version: "1"}})
		w.ok(err)
		by("m", window)
		for _, client := range []machine.Client{window, claude, claude} {
			w.wait("m", w.execWith("m", machine.ExecuteOptions{Code: "print 0", Client: client}).Seq)
			by("m", client)
		}
		_, err = w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f", Client: window})
		w.ok(err)
		w.close()
		w.open()
		by("m", claude)
		by("f", window) // whatever was sent to its parent
	})
}
