package service_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// What was stopped because the computer ran short comes back when there is room, not before, and
// says what was.
func TestWhatTheComputerHasNoMemoryForComesBackWhenItHas(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		var free atomic.Int64
		w.freeMem = func() (int64, error) { return free.Load(), nil }
		free.Store(8 << 30)
		w.open()
		m := w.create("m")
		w.exec("m", "wait")
		w.begun("m", "list")
		free.Store(100 << 20)
		w.engine.box(m.ID).starve(false)
		if m := w.inState("m", machine.Swapped); !strings.Contains(m.Notice, "The computer was running out of memory. This machine was saved") {
			t.Errorf("notice %q", m.Notice)
		}
		w.pass(10 * time.Minute)
		w.inState("m", machine.Swapped)
		free.Store(8 << 30)
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 0); in.Status != machine.StatusOK || !strings.Contains(in.Notice, "in the middle of a step") {
			t.Fatalf("%+v", in)
		}
		if in := w.wait("m", 1); value(in) != "0" || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
	})
}

// Machines grow after they came in. Below the floor those go to the disk that have rested for a
// minute, the least recently used first, until there is enough; others stay.
func TestWhatRestsMakesRoomBelowTheFloor(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		w.settings.IdleSwap = time.Hour
		var free atomic.Int64
		w.freeMem, w.totalMem = func() (int64, error) { return free.Load(), nil }, 10<<30
		free.Store(8 << 30)
		w.open()
		for _, name := range []string{"old", "older", "late"} {
			w.create(name)
		}
		w.exec("older", "1")
		w.wait("older", 0)
		w.exec("old", "1")
		w.wait("old", 0)
		w.pass(50 * time.Second)
		w.exec("late", "1")
		w.wait("late", 0)
		free.Store(1536<<20 - 1)
		w.pass(5 * time.Second)
		for _, name := range []string{"old", "older", "late"} {
			w.inState(name, machine.Idle)
		}
		w.pass(40 * time.Second)
		w.inState("older", machine.Swapped)
		w.inState("late", machine.Idle)
		free.Store(1536 << 20)
		w.pass(2 * time.Minute)
		w.inState("late", machine.Idle)
	})
}

// What somebody looks into is in use, though no code runs.
func TestWhatIsLookedIntoDoesNotRest(t *testing.T) {
	inTimeWith(t, service.Settings{IdleSwap: time.Hour}, func(w *world) {
		w.close()
		w.freeMem, w.totalMem = func() (int64, error) { return 1 << 30, nil }, 10<<30
		w.open()
		w.create("m")
		w.exec("m", "1")
		w.wait("m", 0)
		for range 10 {
			w.pass(50 * time.Second)
			_, err := w.at("m").Variables(w.ctx)
			w.ok(err)
			w.inState("m", machine.Idle)
		}
		w.pass(2 * time.Minute)
		w.inState("m", machine.Swapped)
	})
}

// What takes more than it may gets another try, and then an end: anyone who waits for it is told,
// and nothing goes round forever.
func TestWhatTakesMoreMemoryThanItMayIsEndedTheSecondTime(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.begun("m", "wait")
		w.engine.box(m.ID).starve(true)
		if m := w.inState("m", machine.Swapped); !strings.Contains(m.Notice, "3000 MiB") || !strings.Contains(m.Notice, "raise its memory limit") {
			t.Errorf("notice %q", m.Notice)
		}
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.pass(2 * time.Minute)
		w.engine.box(m.ID).starve(true) // after a while it is no row
		w.inState("m", machine.Swapped)
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).starve(true)
		in := w.wait("m", 1)
		if in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "3000 MiB") || !strings.Contains(in.Error, "twice in a row") || !in.RolledBack {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		synctest.Wait()
		if n := w.engine.count(); n != len(all) {
			t.Errorf("%d checkpoints, %d on record", n, len(all))
		}
	})
}

// Who raises the limit, as he was told, has a whole new try.
func TestARaisedLimitIsAnotherTry(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.engine.box(m.ID).starve(true)
		w.inState("m", machine.Swapped)
		mb := 4096
		_, err := w.at("m").Update(w.ctx, machine.Change{MemoryMB: &mb})
		w.ok(err)
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).starve(true)
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 0); in.Status != machine.StatusOK {
			t.Fatalf("%+v", in)
		}
	})
}

// An idle machine goes and comes as always.
func TestAnIdleMachineThatMemoryRanShortOf(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.engine.box(m.ID).starve(false)
		if m := w.inState("m", machine.Swapped); !strings.Contains(m.Notice, "running out of memory") {
			t.Errorf("notice %q", m.Notice)
		}
		if in := w.run("m", "list"); value(in) != "0" || in.Notice != "" {
			t.Errorf("%q, notice %q", value(in), in.Notice)
		}
	})
}
