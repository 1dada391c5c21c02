package service

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/events"
)

// Anyone who holds a machine may need its fields to let go of it, so waiting for that does not hold
// them.
func TestResumeHoldsNoFieldsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Service{log: slog.New(slog.DiscardHandler), hub: events.New(), machines: map[machine.ID]*entry{}}
		s.ctx, s.cancel = context.WithCancel(t.Context())
		e := newEntry(s, machine.MachineRecord{Machine: machine.Machine{ID: "a", Engine: "none"}, Live: true})
		s.machines["a"] = e
		if err := e.lockOp(s.ctx); err != nil { // say, the keeper
			t.Fatal(err)
		}
		resumed := make(chan struct{})
		go func() {
			s.resume()
			close(resumed)
		}()
		synctest.Wait()
		free := e.mu.TryLock()
		if free {
			e.mu.Unlock()
		} else {
			t.Error("it holds what it keeps the other from")
		}
		e.unlockOp()
		<-resumed
		if err := s.Close(s.ctx); err != nil {
			t.Fatal(err)
		}
	})
}
