package service_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// middle makes a checkpoint in the middle of instruction 1, and goes on to instruction 2, saved.
func (w *world) middle(code string) (m machine.Machine, middle machine.Checkpoint) {
	w.t.Helper()
	m = w.saved("m")
	w.begun("m", code)
	middle, err := w.at("m").Checkpoint(w.ctx, "middle")
	w.ok(err)
	if code == "wait" {
		w.engine.box(m.ID).poke("release")
	} else {
		w.ok(w.at("m").Interrupt(w.ctx))
	}
	w.wait("m", 1)
	w.run("m", "print 2")
	w.pass(3 * time.Second)
	return m, middle
}

// What falls back after a rewind falls back to what was before, not to what was left.
func TestARewindToTheMiddleIsNotUndoneByADeath(t *testing.T) {
	for _, kept := range []bool{true, false} {
		inTime(t, func(w *world) {
			w.used("m")
			if kept {
				_, err := w.at("m").Checkpoint(w.ctx, "early")
				w.ok(err)
			}
			m := w.get("m")
			w.begun("m", "wait")
			c, err := w.at("m").Checkpoint(w.ctx, "middle")
			w.ok(err)
			w.engine.box(m.ID).poke("release")
			w.wait("m", 1)
			w.run("m", "print 2")
			w.pass(3 * time.Second)
			_, err = w.at("m").Rewind(w.ctx, c.ID, "")
			w.ok(err)
			w.ok(w.at("m").Wake(w.ctx))
			w.engine.box(m.ID).crash()
			w.inState("m", machine.Swapped)
			want, notice := "", "returned to its beginning"
			if kept {
				want, notice = "0", ""
			}
			in := w.run("m", "list")
			if value(in) != want || !strings.Contains(in.Notice, notice) || notice == "" && in.Notice != "" {
				t.Errorf("with an earlier checkpoint %v: %q, notice %q", kept, value(in), in.Notice)
			}
			for seq, lost := range []bool{!kept, true, true} {
				if in, _ := w.at("m").Instruction(w.ctx, seq); in.RolledBack != lost {
					t.Errorf("with an earlier checkpoint %v: instruction %d is lost: %v", kept, seq, in.RolledBack)
				}
			}
		})
	}
}

// Once what ran in the checkpoint has been stopped, the machine is saved without it.
func TestAMachineThatWasRewoundToTheMiddleIsSavedWhenItIsQuiet(t *testing.T) {
	inTime(t, func(w *world) {
		_, middle := w.middle("reluctant")
		_, err := w.at("m").Rewind(w.ctx, middle.ID, "")
		w.ok(err)
		w.ok(w.at("m").Wake(w.ctx))
		w.pass(10 * time.Second)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if all[0].Kind != machine.CheckpointAuto || all[0].RunningSeq != nil || all[0].LastSeq != 1 {
			t.Fatalf("the present state is %+v", all[0])
		}
	})
}

// A record of a version that did not look after this tells at least.
func TestARewindThatIsUndoneIsTold(t *testing.T) {
	inTime(t, func(w *world) {
		m, middle := w.middle("wait")
		left, err := w.at("m").Checkpoint(w.ctx, "left")
		w.ok(err)
		_, err = w.at("m").Rewind(w.ctx, middle.ID, "")
		w.ok(err)
		w.close()
		w.openStore()
		records, err := w.store.Machines(w.ctx)
		w.ok(err)
		records[0].Fallback = left.ID
		w.ok(w.store.Write(w.ctx, func(put machine.Writer) error { return put.PutMachine(records[0]) }))
		w.closeStore()
		w.open()
		w.ok(w.at("m").Wake(w.ctx))
		w.engine.box(m.ID).crash()
		w.inState("m", machine.Swapped)
		if in := w.run("m", "list"); value(in) != "0 1 2" || !strings.Contains(in.Notice, "its return to another state before is undone") {
			t.Fatalf("%q, notice %q", value(in), in.Notice)
		}
	})
}

// A fork that was made in the middle of an instruction has something to fall back to.
func TestAForkOfTheMiddleFallsBackToWhatWasBefore(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.begun("m", "wait")
		f, err := w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"})
		w.ok(err)
		for range 2 { // the first time it goes on from there
			w.inState("f", machine.Running)
			w.engine.box(f.ID).crash()
		}
		if in := w.wait("f", 1); in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "its state after step 1") {
			t.Fatalf("%+v", in)
		}
		w.effects("f", "0")
	})
}

// However often a machine is rewound, and however much is kept by hand, it can be, and the latest
// rewinds can be undone.
func TestRewindingHasNoEnd(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		var first machine.Checkpoint
		for i := range 50 {
			c, err := w.at("m").Checkpoint(w.ctx, "mine")
			w.ok(err)
			if i == 0 {
				first = c
			}
		}
		for range 25 {
			w.run("m", "print x")
			_, err := w.at("m").Rewind(w.ctx, first.ID, "")
			w.ok(err)
		}
		if all, undo := w.checkpoints("m"), w.branches("m"); len(undo) != 20 || len(all) != 75 || undo[19].LastSeq != 6 {
			t.Fatalf("%d of %d undo a rewind: %+v", len(undo), len(all), undo)
		}
		oldest := w.branches("m")[19]
		w.back("m", oldest.Name, "")
		w.effects("m", "0 6")
		w.pass(3 * time.Second)
		w.ok(w.at("m").DeleteCheckpoint(w.ctx, oldest.Checkpoint))
	})
}

// A rewind that fails leaves its target what it was.
func TestARewindThatFailsChangesNothing(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.run("m", "print 1")
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		full := &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk is full."}
		w.engine.set(func() { w.engine.saveErr = full })
		if _, err := w.at("m").Rewind(w.ctx, all[0].ID, ""); !errors.Is(err, machine.ErrDiskFull) {
			t.Fatalf("%v", err)
		}
		w.engine.set(func() { w.engine.saveErr = nil })
		if all, err = w.at("m").Checkpoints(w.ctx); err != nil || len(all) != 1 || all[0].Kind != machine.CheckpointAuto {
			t.Fatalf("%+v, %v", all, err)
		}
		_, err = w.at("m").Rewind(w.ctx, all[0].ID, "")
		w.ok(err)
		w.effects("m", "0")
	})
}
