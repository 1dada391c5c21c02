package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// toldOfPast checks that the record of instruction 1, and the next result, say that it went on and
// how that ended.
func (w *world) toldOfPast(how string) {
	w.t.Helper()
	next := w.run("m", "list")
	if value(next) != "0 1" || !strings.Contains(next.Notice, "Step 2 went on when this machine came back into memory, "+how) {
		w.t.Errorf("%q, notice %q", value(next), next.Notice)
	}
	in, err := w.at("m").Instruction(w.ctx, 1)
	w.ok(err)
	if in.RolledBack || !strings.Contains(in.Notice, "It went on when the machine was next in memory, "+how) {
		w.t.Errorf("its record: %+v", in)
	}
	if again := w.run("m", "list"); again.Notice != "" {
		w.t.Errorf("told twice: %q", again.Notice)
	}
}

// What was broken off by the bin gets to its end before it is interrupted.
func TestAnInstructionThatGetsToItsEndAfterTheBinIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.exec("m", "slow 2000")
		w.pass(time.Second)
		w.ok(w.at("m").Delete(w.ctx))
		w.ok(w.at("m").Restore(w.ctx))
		if in := w.wait("m", 1); in.ErrorName != "MachineStopped" {
			t.Fatalf("%+v", in)
		}
		w.toldOfPast("and got to its end")
	})
}

// The machine is returned to the middle of what got to its end once already, and so it does again.
func TestAnInstructionThatGetsToItsEndAfterARewindIsNotLost(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.exec("m", "slow 2000")
		w.pass(time.Second)
		middle, err := w.at("m").Checkpoint(w.ctx, "middle")
		w.ok(err)
		if in := w.wait("m", 1); in.Status != machine.StatusOK {
			t.Fatalf("%+v", in)
		}
		_, err = w.at("m").Rewind(w.ctx, middle.ID, "")
		w.ok(err)
		if in, _ := w.at("m").Instruction(w.ctx, 1); !in.RolledBack {
			t.Fatalf("%+v", in)
		}
		w.toldOfPast("and got to its end")
	})
}

// It gets to its end, and the daemon dies before it hears of that.
func TestAnEndThatTheLastDaemonDidNotHearIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.exec("m", "slow 2000")
		w.pass(time.Second)
		w.ok(w.at("m").Delete(w.ctx))
		w.ok(w.at("m").Restore(w.ctx))
		w.ok(w.at("m").Wake(w.ctx))
		w.pass(990 * time.Millisecond)
		w.die()
		w.pass(time.Second)
		w.engine.orphan(m.ID)
		w.open()
		w.toldOfPast("and got to its end")
	})
}

// What is interrupted in its middle has done a part: the record says so, and nobody else is
// bothered.
func TestAnInstructionThatIsStoppedAfterTheBin(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.begun("m", "hang")
		w.ok(w.at("m").Delete(w.ctx))
		w.ok(w.at("m").Restore(w.ctx))
		for _, want := range []string{"0", "0 2"} {
			if next := w.run("m", "list"); value(next) != want || next.Notice != "" {
				t.Errorf("%q, notice %q", value(next), next.Notice)
			}
			w.close()
			w.open()
		}
		in := w.wait("m", 1)
		if in.RolledBack || strings.Count(in.Notice, "until it ended with KeyboardInterrupt") != 1 {
			t.Errorf("%+v", in)
		}
	})
}
