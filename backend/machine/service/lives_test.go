package service_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// A machine that was rewound stays rewound, even when daemon and supervisor die before the
// supervisor has heard of its new life; and what is on record is never deleted.
func TestRewindIsNotUndoneByADoubleDeath(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		var kept []machine.Checkpoint
		for range 3 {
			w.run("m", "print x")
			c, err := w.at("m").Checkpoint(w.ctx, "kept")
			w.ok(err)
			kept = append(kept, c)
		}
		_, err := w.at("m").Rewind(w.ctx, kept[0].ID, "")
		w.ok(err)
		w.engine.set(func() { w.engine.startErr = errors.New("killed while starting"); w.engine.startHangs = true })
		w.begun("m", "list")
		w.die()
		w.engine.set(func() { w.engine.startErr = nil; w.engine.startHangs = false })
		w.open()
		if in := w.wait("m", 3); value(in) != "0" {
			t.Fatalf("after the rewind it holds %q", value(in))
		}
		for _, c := range kept[1:] {
			_, err := w.at("m").Rewind(w.ctx, c.ID, "")
			w.ok(err)
		}
	})
}

// A checkpoint that nobody recorded is worth having, but what ran after it is lost and said to be.
func TestAnOrphanedCheckpointTellsWhatIsLost(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		_, err := w.engine.box(m.ID).Checkpoint(w.ctx, nil) // its daemon dies before it records it
		w.ok(err)
		w.run("m", "print 1")
		w.run("m", "print 2")
		w.begun("m", "wait")
		w.die()
		w.engine.box(m.ID).crash()
		w.open()
		if in := w.wait("m", 3); in.ErrorName != "MachineStopped" || !in.RolledBack {
			t.Fatalf("what ran: %+v", in)
		}
		next := w.run("m", "list")
		if value(next) != "0" || !strings.Contains(next.Notice, "what steps 2-4 changed is gone") {
			t.Fatalf("%q, notice %q", value(next), next.Notice)
		}
		for seq, lost := range []bool{false, true, true, true, false} {
			if in, _ := w.at("m").Instruction(w.ctx, seq); in.RolledBack != lost {
				t.Errorf("instruction %d: rolled back %v", seq, in.RolledBack)
			}
		}
	})
}

// An older checkpoint of a life than those on record is no news.
func TestAnOrphanOlderThanTheRecordIsRemoved(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		_, err := w.engine.box(m.ID).Checkpoint(w.ctx, nil)
		w.ok(err)
		w.run("m", "print 1")
		_, err = w.at("m").Checkpoint(w.ctx, "kept")
		w.ok(err)
		w.die()
		w.engine.box(m.ID).crash()
		w.open()
		if next := w.run("m", "list"); value(next) != "0 1" || next.Notice != "" {
			t.Fatalf("%q, notice %q", value(next), next.Notice)
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if n := w.engine.count(); n != len(all) {
			t.Fatalf("%d checkpoints, %d on record", n, len(all))
		}
	})
}

// What cannot be asked is not taken for "nothing": the machine waits for an answer.
func TestAnEngineThatCannotTellLosesNothing(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.exec("m", "wait")
		w.begun("m", "print 2")
		w.die()
		w.engine.orphan(m.ID)
		w.engine.set(func() { w.engine.reclaimErr = errors.New("Docker is not running") })
		w.open()
		w.pass(40 * time.Second)
		if m := w.inState("m", machine.Swapped); !strings.Contains(m.Notice, "Docker is not running") || m.Queued != 1 {
			t.Fatalf("%+v", m)
		}
		w.engine.set(func() { w.engine.reclaimErr = nil })
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		for seq := 1; seq <= 2; seq++ {
			if in := w.wait("m", seq); in.Status != machine.StatusOK || in.Notice != "" {
				t.Fatalf("%+v", in)
			}
		}
		w.effects("m", "0 1 2")
	})
}

// An instruction that had not begun when its sandbox died is handed over once more, and not for
// ever.
func TestAnInstructionThatHadNotBegunIsHandedOverAgainOnce(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.engine.set(func() { w.engine.deaf = true })
		w.begun("m", "print 1")
		w.engine.set(func() { w.engine.deaf = false })
		w.engine.box(m.ID).crash()
		in := w.wait("m", 1)
		if in.Status != machine.StatusOK || !strings.Contains(in.Notice, "handed over a second time") {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0 1")
		w.engine.set(func() { w.engine.deaf = true })
		w.exec("m", "print 3")
		for range 2 {
			synctest.Wait()
			w.engine.box(m.ID).crash()
			synctest.Wait()
		}
		w.engine.set(func() { w.engine.deaf = false })
		if in := w.wait("m", 3); in.ErrorName != "MachineStopped" {
			t.Fatalf("%+v", in)
		}
	})
}

// Who sends an instruction to a sandbox that is just ending is told why that ended.
func TestAnInstructionForAnEndingSandboxTellsWhyItEnds(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.engine.set(func() { w.engine.ending = true })
		w.begun("m", "print 1")
		w.engine.set(func() { w.engine.ending = false })
		w.engine.box(m.ID).end(machine.Cause{Kind: machine.EndedMemory, Detail: "The system ended the machine because it took far more memory than it may."})
		if in := w.wait("m", 1); in.Status != machine.StatusOK || !strings.Contains(in.Notice, "because the system ended the machine because it took far more memory") {
			t.Fatalf("%+v", in)
		}
	})
}

// What a sandbox had saved right before it died, and nobody had heard of, is found; in the middle
// of an instruction it is removed.
func TestWhatWasSavedRightBeforeADeathIsFound(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.run("m", "print 1")
		_, err := w.engine.box(m.ID).Checkpoint(w.ctx, nil)
		w.ok(err)
		w.engine.box(m.ID).crash()
		w.inState("m", machine.Swapped)
		if in := w.run("m", "list"); value(in) != "0 1" || in.Notice != "" {
			t.Fatalf("%q, notice %q", value(in), in.Notice)
		}
		w.pass(3 * time.Second)
		w.begun("m", "wait")
		_, err = w.engine.box(m.ID).Checkpoint(w.ctx, nil)
		w.ok(err)
		w.engine.box(m.ID).crash()
		if in := w.wait("m", 3); in.ErrorName != "MachineStopped" {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0 1 2")
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		synctest.Wait()
		if n := w.engine.count(); n != len(all) {
			t.Errorf("%d checkpoints, %d on record", n, len(all))
		}
	})
}
