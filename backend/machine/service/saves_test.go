package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// leaving is a caller who gives up after a second.
func (w *world) leaving() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, time.Second)
}

func TestACallerWhoLeavesLeavesNothingHalfDone(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.engine.set(func() { w.engine.saveTakes = 5 * time.Second })
		gone, cancel := w.leaving()
		defer cancel()
		if _, err := w.at("m").Checkpoint(gone, "kept"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		w.pass(10 * time.Second)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 1 || all[0].Label != "kept" {
			t.Fatalf("what was begun is not on record: %+v", all)
		}
		// A swap whose caller leaves, and an instruction that comes meanwhile.
		gone2, cancel2 := w.leaving()
		defer cancel2()
		if err := w.at("m").Swap(gone2); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		if in := w.run("m", "list"); value(in) != "0" || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
		// What runs is paused by a swap, and goes on when a person resumes it.
		w.exec("m", "wait")
		gone3, cancel3 := w.leaving()
		defer cancel3()
		_ = w.at("m").Swap(gone3)
		w.pass(10 * time.Second)
		w.inState("m", machine.Swapped)
		next := w.exec("m", "list")
		w.ok(w.at("m").Wake(w.ctx))
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", next.Seq); value(in) != "0 1 2" {
			t.Fatalf("%+v", in)
		}
	})
}

// Before the computer sleeps there is little time; what takes longer is recorded all the same.
func TestASaveThatNobodyWaitsForIsRecorded(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.saveTakes = 5 * time.Second })
		gone, cancel := w.leaving()
		defer cancel()
		if err := w.CheckpointAll(gone); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		w.pass(20 * time.Second)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if n := w.engine.count(); n != 1 || len(all) != 1 {
			t.Fatalf("%d checkpoints, %d on record", n, len(all))
		}
	})
}

func TestAWakeWhoseCallerLeavesIsNoFailure(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.ok(w.at("m").Swap(w.ctx))
		w.engine.set(func() { w.engine.startTakes = 5 * time.Second })
		gone, cancel := w.leaving()
		defer cancel()
		if err := w.at("m").Wake(gone); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		w.pass(5 * time.Second)
		if m := w.inState("m", machine.Idle); m.Notice != "" {
			t.Fatalf("notice %q", m.Notice)
		}
	})
}

func TestASlowSaveCostsNoWork(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.saveTakes = 20 * time.Second })
		save := func() {
			w.pass(time.Second)
			go func() { _, _ = w.at("m").Checkpoint(w.ctx, "") }()
			w.pass(time.Second)
		}
		// Its time does not run while it stands still.
		start := time.Now()
		in := w.execWith("m", machine.ExecuteOptions{Code: "hang", Timeout: 3 * time.Second})
		save()
		if in = w.wait("m", in.Seq); in.ErrorName != "Timeout" || in.RolledBack {
			t.Fatalf("%+v", in)
		}
		if took := time.Since(start); took < 23*time.Second || took > 25*time.Second {
			t.Fatalf("3 s and a save of 20 s took %v", took)
		}
		// Nor does the grace of an interrupt.
		in = w.exec("m", "hang")
		save()
		w.ok(w.at("m").Interrupt(w.ctx))
		if in = w.wait("m", in.Seq); in.ErrorName != "KeyboardInterrupt" || in.RolledBack {
			t.Fatalf("%+v", in)
		}
		// Nor is one forgotten that comes while the machine is put away.
		in = w.exec("m", "hang")
		w.pass(time.Second)
		go func() { _ = w.at("m").Swap(w.ctx) }()
		w.pass(time.Second)
		w.inState("m", machine.Swapping)
		w.ok(w.at("m").Interrupt(w.ctx))
		if in = w.wait("m", in.Seq); in.ErrorName != "KeyboardInterrupt" || in.RolledBack {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}

// What a person paused is over when its sandbox dies. So what waits behind it does not wait for the
// person.
func TestADeathWhileItFallsAsleepLeavesNothingWaiting(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.engine.set(func() { w.engine.saveTakes, w.engine.saveErr = 20*time.Second, errors.New("its supervisor is gone") })
		w.begun("m", "hang")
		last := w.exec("m", "print 2")
		go func() { _ = w.at("m").Swap(w.ctx) }()
		w.pass(time.Second)
		w.inState("m", machine.Swapping)
		w.engine.box(m.ID).crash()
		w.pass(20 * time.Second)
		w.engine.set(func() { w.engine.saveTakes, w.engine.saveErr = 0, nil })
		w.pass(time.Minute)
		if in, err := w.at("m").Instruction(w.ctx, last.Seq); err != nil || in.Status != machine.StatusOK {
			t.Errorf("%+v, %v", in, err)
		}
	})
}

// An instruction that gets to a machine which stands still to be saved waits there, however long
// that takes.
func TestASlowSaveEndsNoMachineForAnInstruction(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.handTakes, w.engine.saveTakes = time.Second, 100*time.Second })
		in := w.begun("m", "print 1")
		_, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		if in = w.wait("m", in.Seq); in.Status != machine.StatusOK || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
		w.engine.set(func() { w.engine.saveTakes = 0 })
		w.effects("m", "0 1")
	})
}

// A machine whose turn to be saved does not come for very long is saved, and leaves memory, all the
// same.
func TestAPlannedSaveThatDoesNotGetItsTurnIsTriedAgain(t *testing.T) {
	inTimeWith(t, service.Settings{IdleSwap: time.Hour}, func(w *world) {
		w.used("m")
		hang := func() { // a save that takes longer than one may
			w.engine.set(func() { w.engine.saveTakes = 20 * time.Minute })
			w.pass(time.Second)
			failed := make(chan error, 1)
			go func() {
				_, err := w.at("m").Checkpoint(w.ctx, "")
				failed <- err
			}()
			w.pass(time.Second / 2)
			w.engine.set(func() { w.engine.saveTakes = 0 }) // the next is quick
			if <-failed == nil {
				t.Fatal("the save was none too slow")
			}
		}
		hang()
		w.pass(10 * time.Minute)
		if all, err := w.at("m").Checkpoints(w.ctx); err != nil || len(all) != 1 {
			t.Errorf("it is not saved: %+v, %v", all, err)
		}
		w.effects("m", "0")
		w.pass(59*time.Minute + 50*time.Second)
		w.inState("m", machine.Idle)
		hang()
		w.pass(3 * time.Hour)
		w.inState("m", machine.Swapped)
	})
}

func TestNothingBeginsWhileACheckpointIsMade(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.exec("m", "wait")
		w.begun("m", "print 1")
		w.engine.set(func() { w.engine.saveTakes = 5 * time.Second })
		go func() { _, _ = w.at("m").Checkpoint(w.ctx, "c") }()
		w.pass(time.Second)
		w.engine.box(m.ID).poke("release")
		w.wait("m", 0)
		w.pass(time.Second)
		if in, _ := w.at("m").Instruction(w.ctx, 1); in.Status != machine.StatusQueued {
			t.Fatalf("in the middle of the save: %+v", in)
		}
		w.wait("m", 1)
	})
}

// A checkpoint that is made just when an instruction was begun for us, but not given to the
// sandbox, can be forked.
func TestForkOfAnInstructionThatIsOnItsWay(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.deaf = true })
		w.exec("m", "print 1")
		f, err := w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"})
		w.ok(err)
		w.engine.set(func() { w.engine.deaf = false })
		if f.NextSeq != 1 || f.RunningSeq != nil {
			t.Fatalf("%+v", f)
		}
		w.effects("f", "0")
		page, err := w.List(w.ctx, machine.Filter{})
		w.ok(err)
		if len(page.Items) != 2 {
			t.Fatalf("%+v", page.Items)
		}
	})
}

// One that lies in the sandbox's own queue is in the checkpoint, and is neither forgotten nor run
// behind our back.
func TestCheckpointOfAnInstructionThatHasNotBegun(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.engine.set(func() { w.engine.sluggish = true })
		w.begun("m", "print 1")
		c, err := w.at("m").Checkpoint(w.ctx, "c")
		w.ok(err)
		if c.RunningSeq == nil || *c.RunningSeq != 1 {
			t.Fatalf("it passes for quiet: %+v", c)
		}
		w.engine.set(func() { w.engine.sluggish = false })
		w.engine.box(m.ID).crash()
		w.wait("m", 1)
		_, err = w.at("m").Rewind(w.ctx, c.ID, "")
		w.ok(err)
		w.ok(w.at("m").Wake(w.ctx))
		w.pass(5 * time.Second)
		w.effects("m", "0")
	})
}

// What a machine claims to have in its queue costs no more than one question at a time.
func TestAQueueOfThePastIsTakenBackOneAfterAnother(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.ok(w.at("m").Swap(w.ctx))
		w.engine.set(func() { w.engine.handTakes, w.engine.queued = time.Second, []int{1, 2, 3} })
		start := time.Now()
		w.ok(w.at("m").Wake(w.ctx))
		w.pass(10 * time.Second)
		b := w.engine.box(m.ID)
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.cancelled) != 3 {
			t.Fatalf("taken back: %v", b.cancelled)
		}
		for i, at := range b.cancelled {
			if took := at.Sub(start); took < time.Duration(i+1)*time.Second {
				t.Errorf("number %d after %v", i, took)
			}
		}
	})
}

func TestStaleInstructionIsStoppedAndTheMachineLives(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.begun("m", "wait")
		c, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		w.engine.box(m.ID).poke("release")
		w.wait("m", 1)
		_, err = w.at("m").Rewind(w.ctx, c.ID, "")
		w.ok(err)
		w.effects("m", "0")
		b := w.engine.box(m.ID)
		w.pass(30 * time.Second) // longer than the grace
		if b.over() {
			t.Fatal("the machine was ended for an instruction that had stopped")
		}
	})
}

func TestForgedNumbersOfACheckpointCountForNothing(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.forged = 1000 })
		c, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		if c.LastSeq != 0 {
			t.Fatalf("%+v", c)
		}
	})
}

func TestMemoryLimitChangedWhileWaking(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.ok(w.at("m").Swap(w.ctx))
		w.engine.set(func() { w.engine.startTakes = 5 * time.Second })
		go func() { _ = w.at("m").Wake(w.ctx) }()
		w.pass(time.Second)
		mb := 512
		_, err := w.at("m").Update(w.ctx, machine.Change{MemoryMB: &mb})
		w.ok(err)
		w.pass(5 * time.Second)
		b := w.engine.box(m.ID)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.limit != 512 {
			t.Fatalf("the limit is %d", b.limit)
		}
	})
}

func TestAFileWrittenDuringASaveIsSavedAgain(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.writeTakes = 10 * time.Second })
		w.put("m", "/root/f", "x") // saved in its middle, after 2 s of rest
		w.pass(3 * time.Second)
		w.engine.set(func() {
			if w.engine.n != 2 {
				t.Errorf("saved %d times", w.engine.n)
			}
		})
	})
}

func TestATransferOutlivesSwaps(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.writeTakes = 10 * time.Second })
		sent := make(chan error, 1)
		go func() {
			_, err := w.at("m").PutFile(w.ctx, "f", strings.NewReader(strings.Repeat("x", 2<<20)))
			sent <- err
		}()
		for range 2 { // the first in the first piece, of a machine that nothing else has happened to
			w.pass(9 * time.Second)
			w.ok(w.at("m").Swap(w.ctx))
		}
		w.ok(<-sent)
		w.effects("m", "f+0 f+1048576 f+2097152")
	})
}

func TestNothingIsWrittenOfAPurgedMachine(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.limitTakes = 5 * time.Second })
		failed := make(chan error, 1)
		go func() {
			mb, title := 512, "late"
			_, err := w.at("m").Update(w.ctx, machine.Change{MemoryMB: &mb, Title: &title})
			failed <- err
		}()
		w.pass(time.Second)
		w.ok(w.at("m").Purge(w.ctx))
		w.pass(10 * time.Second)
		if err := <-failed; !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("%v", err)
		}
		w.close()
		w.open()
		page, err := w.List(w.ctx, machine.Filter{})
		w.ok(err)
		if len(page.Items) != 0 {
			t.Fatalf("it is back: %+v", page.Items)
		}
	})
}
