package service_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// slowExchange is an exchange that takes its time.
type slowExchange struct {
	takes  time.Duration
	notice string

	mu        sync.Mutex
	filled    int
	collected []string // names of machines
	forgotten int
}

func (x *slowExchange) Concerns(_ machine.ID, code string) bool { return strings.Contains(code, "box") }

func (x *slowExchange) Fill(ctx context.Context, _ machine.ID, _ machine.Files) (string, error) {
	x.mu.Lock()
	x.filled++
	x.mu.Unlock()
	return x.notice, stand(ctx, x.takes)
}

func (x *slowExchange) Collect(_ context.Context, m machine.Machine, _ machine.Files) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.collected = append(x.collected, m.Name)
	return "", nil
}

func (x *slowExchange) Results(machine.Machine) string { return "" }

func (x *slowExchange) Forget(machine.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forgotten++
}

func TestAnInstructionWaitsForItsInbox(t *testing.T) {
	inTime(t, func(w *world) {
		x := &slowExchange{takes: 20 * time.Second, notice: "One file is too large."}
		w.close()
		w.exchange = x
		w.open()
		w.used("m")
		if x.filled != 0 || len(x.collected) != 0 {
			t.Errorf("code that has nothing to do with it: %+v", x)
		}
		// Its time does not count while it waits, and what ran there is collected.
		in := w.execWith("m", machine.ExecuteOptions{Code: "print inbox", Timeout: 5 * time.Second})
		done := w.wait("m", in.Seq)
		if done.Status != machine.StatusOK || !strings.Contains(done.Notice, "One file is too large.") {
			t.Errorf("%+v", done)
		}
		synctest.Wait()
		if x.filled != 1 || len(x.collected) != 1 || x.collected[0] != "m" {
			t.Errorf("%+v", x)
		}
		// Who does not want to wait stops it.
		in = w.exec("m", "wait inbox")
		w.pass(time.Second)
		start := time.Now()
		w.ok(w.at("m").Interrupt(w.ctx))
		if done := w.wait("m", in.Seq); done.ErrorName != "KeyboardInterrupt" || time.Since(start) > 3*time.Second {
			t.Errorf("after %v it ended with %+v", time.Since(start), done)
		}
		// A machine that leaves memory meanwhile is filled again when it comes back.
		in = w.exec("m", "print inbox again")
		w.pass(time.Second)
		w.ok(w.at("m").Swap(w.ctx))
		w.ok(w.at("m").Wake(w.ctx))
		if done := w.wait("m", in.Seq); done.Status != machine.StatusOK || x.filled < 4 {
			t.Errorf("filled %d times, %+v", x.filled, done)
		}
		w.ok(w.at("m").Purge(w.ctx))
		if x.forgotten != 1 {
			t.Errorf("forgotten %d times", x.forgotten)
		}
	})
}
