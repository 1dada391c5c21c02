package service_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func TestQueueSurvivesTheDaemon(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.exec("m", "wait")
		w.exec("m", "print a")
		w.begun("m", "list")
		w.die()
		w.engine.orphan(m.ID) // the supervisor saves it on its own

		w.open()
		synctest.Wait()
		got := w.inState("m", machine.Running)
		if got.RunningSeq == nil || *got.RunningSeq != 0 || got.Queued != 2 {
			t.Fatalf("after the restart: %+v", got)
		}
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 2); value(in) != "0 1" || in.Notice != "" {
			t.Fatalf("last: %q, notice %q", value(in), in.Notice)
		}
		if in := w.wait("m", 0); in.Status != machine.StatusOK || in.RolledBack {
			t.Fatalf("first: %+v", in)
		}
	})
}

func TestFramesThatWereNotStoredComeAgain(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.die()
		b := w.engine.box(m.ID)
		b.poke("release") // it ends while nobody listens
		for range b.Frames() {
			break
		}
		w.engine.orphan(m.ID)
		w.open()
		if in := w.wait("m", 0); in.Status != machine.StatusOK {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}

func TestBothDiedEndsTheRunningInstructionAndNeverRunsItAgain(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.exec("m", "wait")
		w.begun("m", "list")
		w.die()
		w.open()
		in := w.wait("m", 1)
		if in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "not run again automatically") || !in.RolledBack {
			t.Fatalf("running: %+v", in)
		}
		next := w.wait("m", 2)
		if value(next) != "0" || !strings.Contains(next.Notice, "returned to its state after step 1") {
			t.Fatalf("next: %q, notice %q", value(next), next.Notice)
		}
	})
}

func TestCloseSavesInTheMiddleAndTheNextDaemonGoesOn(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.close()
		w.open()
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 0); in.Status != machine.StatusOK || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
	})
}

// Whether the last step failed is known, also after a restart and after going back.
func TestAFailureIsToldUntilAnotherStep(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.run("m", "print 1")
		w.pass(3 * time.Second)
		good := w.checkpoints("m")[0]
		failed := func(want bool, when string) {
			t.Helper()
			if m := w.get("m"); m.Failed != want {
				t.Errorf("%s: failed %v, want %v", when, m.Failed, want)
			}
		}
		failed(false, "after a good step")
		w.begun("m", "wait")
		w.ok(w.at("m").Interrupt(w.ctx))
		if in := w.wait("m", 1); in.Status != machine.StatusError {
			t.Fatalf("%+v", in)
		}
		failed(true, "after a step that failed")
		w.close()
		w.open()
		failed(true, "after a restart")
		w.back("m", good.ID, "left")
		failed(false, "back at the good step")
		w.close()
		w.open()
		failed(false, "back at the good step, after a restart")
		w.back("m", "left", "")
		failed(true, "again after the step that failed")
		w.run("m", "print 2")
		failed(false, "after another good step")
	})
}

// Nobody but a person lifts a person's pause: not who sends more code, nor who looks inside.
func TestNoProgramLiftsAPause(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.ok(w.at("m").Swap(w.ctx))
		next := w.exec("m", "list")
		if _, err := w.at("m").Variables(w.ctx); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("looking inside: %v", err)
		}
		for range 2 {
			w.pass(time.Minute)
			if !w.inState("m", machine.Swapped).Paused {
				t.Fatal("it is paused no more")
			}
			w.close()
			w.open()
		}
		w.ok(w.at("m").Wake(w.ctx))
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", next.Seq); in.Status != machine.StatusOK {
			t.Errorf("what waited behind it: %+v", in)
		}
		// Stopping what is paused lets the rest go on.
		w.begun("m", "wait")
		w.ok(w.at("m").Swap(w.ctx))
		last := w.exec("m", "list")
		w.ok(w.at("m").Interrupt(w.ctx))
		if in := w.wait("m", last.Seq); in.Status != machine.StatusOK {
			t.Errorf("what waited behind what was stopped: %+v", in)
		}
	})
}

// A person's pause outlives the daemon: what they stopped does not go on behind their back.
func TestAPauseOutlivesTheDaemon(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.ok(w.at("m").Swap(w.ctx))
		if !w.inState("m", machine.Swapped).Paused {
			t.Fatal("it does not say that it is paused")
		}
		w.close()
		w.open()
		w.pass(time.Minute)
		if !w.inState("m", machine.Swapped).Paused {
			t.Fatal("it forgot that it is paused")
		}
		w.ok(w.at("m").Wake(w.ctx))
		if w.inState("m", machine.Running).Paused {
			t.Fatal("it runs, and says that it is paused")
		}
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 0); in.Status != machine.StatusOK || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
		w.close()
		w.open()
		if w.inState("m", machine.Swapped).Paused {
			t.Fatal("it has nothing to do, and says that it is paused")
		}
	})
}

func TestUninterruptibleCodeThatWasSavedInItsMiddleCostsOnlyItself(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.begun("m", "stubborn")
		w.ok(w.at("m").Swap(w.ctx))
		w.ok(w.at("m").Interrupt(w.ctx)) // wakes it to stop it
		if in := w.wait("m", 1); in.ErrorName != "KeyboardInterrupt" {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}

func TestStartThatFailsEndsWhatWaits(t *testing.T) {
	inTime(t, func(w *world) {
		w.engine.set(func() { w.engine.startErr = errors.New("there is no room for it") })
		w.create("m")
		in := w.run("m", "print 0")
		if in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "there is no room for it") {
			t.Fatalf("%+v", in)
		}
		if m := w.inState("m", machine.Swapped); !strings.Contains(m.Notice, "there is no room") {
			t.Fatalf("notice %q", m.Notice)
		}
		if err := w.at("m").Wake(w.ctx); !errors.Is(err, machine.ErrUnavailable) {
			t.Fatalf("wake: %v", err)
		}
		w.engine.set(func() { w.engine.startErr = nil })
		w.effects("m", "")
		if m := w.get("m"); m.Notice != "" {
			t.Fatalf("the notice stays: %q", m.Notice)
		}
	})
}

// An engine that does not answer keeps the places of those that come into memory only for so long.
func TestAStartThatNeverEndsIsEnded(t *testing.T) {
	inTime(t, func(w *world) {
		w.engine.set(func() { w.engine.startHangs = true })
		for range max(2, runtime.NumCPU()) { // as many as come into memory at once
			w.create("")
		}
		w.create("m")
		w.exec("m", "print 0")
		w.pass(11 * time.Minute)
		in, err := w.at("m").Instruction(w.ctx, 0)
		w.ok(err)
		if in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "not ready after 5 minutes") || strings.Contains(in.Error, "deadline") {
			t.Fatalf("%+v", in)
		}
		w.engine.set(func() { w.engine.startHangs = false })
		w.pass(time.Hour)
		w.effects("m", "")
	})
}

func TestSavedInstructionWaitsForItsEngine(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.begun("m", "wait")
		w.close()
		w.engine.set(func() { w.engine.startErr = errors.New("Docker is not running") })
		w.open()
		w.inState("m", machine.Swapped)
		w.pass(20 * time.Second)
		w.engine.set(func() { w.engine.startErr = nil })
		w.pass(20 * time.Second)
		w.inState("m", machine.Running)
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 0); in.Status != machine.StatusOK {
			t.Fatalf("%+v", in)
		}
	})
}

func TestUnusableCheckpointSaysWhatToDo(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c, err := w.at("m").Checkpoint(w.ctx, "good")
		w.ok(err)
		w.run("m", "print 1")
		w.ok(w.at("m").Swap(w.ctx))
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		w.ok(w.engine.Delete(w.ctx, "", all[0].ID)) // a damaged disk
		in := w.run("m", "list")
		if in.Status != machine.StatusError || !strings.Contains(in.Error, "earlier checkpoint") {
			t.Fatalf("%+v", in)
		}
		_, err = w.at("m").Rewind(w.ctx, c.ID, "")
		w.ok(err)
		w.effects("m", "0")
	})
}

func TestStopThatFailsLeavesTheMachineRunning(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		full := &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk is full."}
		w.engine.set(func() { w.engine.saveErr = full })
		if err := w.at("m").Swap(w.ctx); !errors.Is(err, machine.ErrDiskFull) {
			t.Fatalf("swap: %v", err)
		}
		w.inState("m", machine.Idle)
		w.effects("m", "0")
		w.pass(3 * time.Second)
		if st := w.Status(w.ctx); len(st.Warnings) == 0 || !strings.Contains(st.Warnings[0], "disk is full") {
			t.Fatalf("warnings %q", st.Warnings)
		}
		w.engine.set(func() { w.engine.saveErr = nil })
		w.pass(time.Minute)
		if n := w.engine.count(); n != 1 {
			t.Fatalf("%d checkpoints once there is room again", n)
		}
	})
}

func TestCheckpointAllSavesAndGoesOn(t *testing.T) {
	inTime(t, func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.create(name)
			w.run(name, "print x")
		}
		w.create("unused")
		w.ok(w.CheckpointAll(w.ctx)) // the computer goes to sleep
		if n := w.engine.count(); n != 3 {
			t.Fatalf("%d checkpoints", n)
		}
		w.inState("a", machine.Idle)
		w.die()
		w.engine.endAll() // and its battery dies
		w.open()
		w.effects("a", "0")
		if m := w.get("a"); m.Notice != "" {
			t.Fatalf("nothing was lost: %q", m.Notice)
		}
	})
}

func TestHundredSwappedMachinesCostLittle(t *testing.T) {
	inTime(t, func(w *world) {
		for range 100 {
			w.create("")
		}
		w.pass(11 * time.Minute)
		if st := w.Status(w.ctx); st.InMemory != 0 || st.Total != 100 {
			t.Fatalf("%+v", st)
		}
		w.pass(time.Hour)
		if n := runtime.NumGoroutine(); n > 20 { // the service's own come and go
			t.Fatalf("%d goroutines for machines that are on the disk", n)
		}
		page, err := w.List(w.ctx, machine.Filter{Limit: 30})
		w.ok(err)
		seen := map[machine.ID]bool{}
		for {
			for _, m := range page.Items {
				if seen[m.ID] {
					t.Fatalf("%s comes twice", m.Name)
				}
				seen[m.ID] = true
			}
			if page.Next == "" {
				break
			}
			w.create("") // comes before the pages that are still to be read
			page, err = w.List(w.ctx, machine.Filter{Limit: 30, Cursor: page.Next})
			w.ok(err)
		}
		if len(seen) != 100 {
			t.Fatalf("%d machines listed", len(seen))
		}
	})
}

// What a killed daemon was writing for nobody goes, though nothing else is deleted.
func TestWhatAKilledDaemonLeftIsCollected(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.pass(time.Hour)
		before := w.engine.collections()
		w.die()
		w.open()
		w.pass(time.Minute)
		if w.engine.collections() == before {
			t.Error("nothing was collected")
		}
	})
}
