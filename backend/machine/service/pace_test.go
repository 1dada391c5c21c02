package service_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/service"
)

// Where one instruction follows on another, the machine is saved between them now and then, and
// each waits no longer than it stands still for that.
func TestABurstIsSavedInBetween(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.pass(10 * time.Second)
		w.engine.set(func() {
			w.engine.saveTakes, w.engine.carryTakes, w.engine.keepTakes = 100*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
		})
		before := w.engine.count()
		start := time.Now()
		var last machine.Instruction
		for range 12 {
			last = w.exec("m", "slow 1000") // a second
		}
		last = w.wait("m", last.Seq)
		saved := w.engine.count() - before
		took := time.Since(start)
		if last.Status != machine.StatusOK || saved < 2 || saved > 3 {
			t.Errorf("saved %d times in %v; %+v", saved, took, last)
		}
		if late := took - 12*time.Second; late > time.Duration(saved)*150*time.Millisecond {
			t.Errorf("%d saves of 100 ms cost %v", saved, late)
		}
		w.pass(time.Minute)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if all[0].LastSeq != last.Seq || all[0].RunningSeq != nil {
			t.Errorf("the newest is %+v", all[0])
		}
		w.effects("m", "0 1 2 3 4 5 6 7 8 9 10 11 12")
	})
}

func TestCheckpointsAreMadeAsOftenAsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		every       time.Duration
		least, most int
	}{"each": {0, 6, 6}, "at most one in five minutes": {5 * time.Minute, 2, 3}, "manual": {-1, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			inTimeWith(t, service.Settings{CheckpointEvery: c.every, IdleSwap: 24 * time.Hour}, func(w *world) {
				w.create("m")
				for i := range 6 {
					w.run("m", fmt.Sprintf("print %d", i))
					w.pass(2 * time.Minute)
				}
				all, err := w.at("m").Checkpoints(w.ctx)
				w.ok(err)
				if len(all) < c.least || len(all) > c.most {
					t.Errorf("there are %d: %+v", len(all), all)
				}
				w.ok(w.at("m").Swap(w.ctx)) // saved in any case
				w.effects("m", "0 1 2 3 4 5")
			})
		})
	}
}

// Many machines that fall idle together are saved one after another, and those go first that
// somebody starts meanwhile.
func TestSavesThatNobodyAskedForLeaveRoomForStarts(t *testing.T) {
	inTime(t, func(w *world) {
		for i := range 20 {
			w.used(fmt.Sprint("idle", i))
		}
		w.engine.set(func() { w.engine.startTakes, w.engine.saveTakes = 200*time.Millisecond, 300*time.Millisecond })
		before := w.engine.count()
		for start, i := time.Now(), 0; time.Since(start) < 10*time.Second; i++ {
			w.used(fmt.Sprint("new", i))
		}
		if saved := w.engine.count() - before; saved == 0 || saved > 5*runtime.NumCPU()/2 {
			t.Errorf("%d machines were saved while others came into memory", saved)
		}
		w.pass(time.Minute)
		for i := range 20 {
			all, err := w.at(fmt.Sprint("idle", i)).Checkpoints(w.ctx)
			w.ok(err)
			if len(all) == 0 {
				t.Errorf("idle%d was not saved", i)
			}
		}
	})
}

// sendFor sends one instruction as soon as the one before is answered, for a while, and returns the
// last one.
func (w *world) sendFor(d time.Duration, code string) (last machine.Instruction) {
	for start := time.Now(); time.Since(start) < d; {
		last = w.run("m", code)
	}
	return last
}

// A client that sends each instruction as soon as the one before is answered leaves no moment to
// save the machine in, and loses a few seconds all the same.
func TestACrashAfterABurstCostsSeconds(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.saveTakes = 100 * time.Millisecond })
		last := w.sendFor(21*time.Second, "slow 53")
		w.run("m", "die")
		next := w.run("m", "list")
		kept := len(strings.Fields(value(next)))
		if lost := time.Duration(last.Seq+1-kept) * 53 * time.Millisecond; kept == 0 || lost > 5*time.Second {
			t.Errorf("of %d instructions %d are left", last.Seq+1, kept)
		}
		if told := fmt.Sprintf("what steps %d-%d changed is gone", kept+1, last.Seq+2); !strings.Contains(next.Notice, told) {
			t.Errorf("%q is told, not %q", next.Notice, told)
		}
		for seq := range last.Seq + 1 {
			if in, err := w.at("m").Instruction(w.ctx, seq); err != nil || in.RolledBack != (seq >= kept) {
				t.Fatalf("%d of %d: %+v, %v", seq, kept, in, err)
			}
		}
	})
}

// What is saved in the middle of an instruction is not lost to an outage, but to code that ends its
// Python: where instructions take long, there is a save at their ends, too.
func TestACrashAmongLongerInstructionsCostsTheLast(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.sendFor(17*time.Second, "slow 3000")
		w.run("m", "die")
		next := w.run("m", "list")
		if kept := len(strings.Fields(value(next))); kept < 5 {
			t.Errorf("of 6 instructions of 3 s, %d are left", kept)
		}
	})
}

// What only looks at a machine puts its save off, but not forever.
func TestAMachineThatIsLookedAtIsSaved(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		for start := time.Now(); time.Since(start) < 6*time.Second; w.pass(time.Second) {
			_, err := w.at("m").Variables(w.ctx)
			w.ok(err)
		}
		if n := w.engine.count(); n != 1 {
			t.Errorf("%d checkpoints", n)
		}
	})
}

func TestACostlySaveComesSeldom(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.saveTakes = time.Second })
		start := time.Now()
		w.sendFor(65*time.Second, "slow 100")
		w.engine.set(func() {
			if most := int(time.Since(start)/(10*time.Second)) + 1; w.engine.n < 4 || w.engine.n > most {
				t.Errorf("saved %d times in %v", w.engine.n, time.Since(start))
			}
		})
	})
}

// The next save after one that failed is not tried with each instruction.
func TestASaveThatFailsIsNotTriedAllTheTime(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.saveTakes, w.engine.saveErr = time.Second, errors.New("it cannot be saved") })
		start := time.Now()
		last := w.sendFor(60*time.Second, "slow 1000")
		if waited := time.Since(start) - time.Duration(last.Seq+1)*time.Second; waited > 3*time.Second {
			t.Errorf("saves that failed cost %v", waited)
		}
		w.engine.set(func() { w.engine.saveErr = nil })
		w.sendFor(40*time.Second, "slow 1000")
		if w.engine.count() == 0 {
			t.Error("it is not saved once it can be")
		}
	})
}

// The checkpoints of work that never pauses do not fill the list.
func TestABurstLeavesOneCheckpointAMinute(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.engine.set(func() { w.engine.handTakes = 300 * time.Millisecond })
		w.sendFor(3*time.Minute, "print x")
		w.pass(time.Minute)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) < 3 || len(all) > 5 {
			t.Errorf("there are %d", len(all))
		}
		if n := w.engine.count(); n != len(all) {
			t.Errorf("%d checkpoints, %d on record", n, len(all))
		}
	})
}

// A long instruction is saved while it runs, and goes on from there after an outage.
func TestALongInstructionGoesOnFromItsMiddle(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.exec("m", "wait")
		w.begun("m", "print 2")
		w.pass(3 * time.Minute)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 2 || all[0].RunningSeq == nil || *all[0].RunningSeq != 1 {
			t.Fatalf("of the middle only the latest is kept: %+v", all)
		}
		w.die()
		w.engine.box(m.ID).crash()
		w.open()
		got := w.inState("m", machine.Running)
		if *got.RunningSeq != 1 || got.Queued != 1 || !strings.Contains(got.Notice, "returned to the middle of step 2, as it was saved at") {
			t.Fatalf("%+v", got)
		}
		w.engine.box(m.ID).poke("release")
		if in := w.wait("m", 1); in.Status != machine.StatusOK || in.RolledBack || !strings.Contains(in.Notice, "what it did after that is done again") {
			t.Fatalf("%+v", in)
		}
		if in := w.wait("m", 2); in.Notice != "" {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0 1 2")
	})
}

// What was put out after the checkpoint is put out again, and is on record once.
func TestWhatGoesOnFromItsMiddlePutsOutNothingTwice(t *testing.T) {
	small := output.Limits{Head: 2000, Tail: 3000} // the middle lies in a file
	for name, limits := range map[string]output.Limits{"in the store": {}, "in a file": small} {
		t.Run(name, func(t *testing.T) {
			inTimeWith(t, service.Settings{Output: limits, MostUnsavedWithin: 5 * time.Second}, func(w *world) {
				m := w.saved("m")
				in := w.begun("m", "slow 10000") // 10 s
				w.pass(8 * time.Second)
				before, err := w.at("m").Instruction(w.ctx, in.Seq)
				w.ok(err)
				w.engine.box(m.ID).crash() // 3 s after it was saved
				w.inState("m", machine.Running)
				after, err := w.at("m").Instruction(w.ctx, in.Seq)
				w.ok(err)
				if after.OutputBytes >= before.OutputBytes || after.OutputBytes < before.OutputBytes/2 {
					t.Errorf("%d bytes of %d are on record", after.OutputBytes, before.OutputBytes)
				}
				if in = w.wait("m", in.Seq); in.Status != machine.StatusOK {
					t.Fatalf("%+v", in)
				}
				var want strings.Builder
				for n := range 10000 {
					fmt.Fprintf(&want, "line %d\n", n)
				}
				out, err := w.at("m").Output(w.ctx, in.Seq)
				w.ok(err)
				defer out.Close()
				if got, err := io.ReadAll(out); err != nil || string(got) != want.String() {
					t.Errorf("%d bytes, want %d; %v", len(got), want.Len(), err)
				}
			})
		})
	}
}

// What no power cut is kept from may be gone: then the machine falls back, and goes on.
func TestAMiddleWhoseOutputIsDamagedIsGivenUp(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"missing": os.Remove, "short": func(p string) error { return os.Truncate(p, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			set := service.Settings{Output: output.Limits{Head: 2000, Tail: 3000}, MostUnsavedWithin: 5 * time.Second}
			inTimeWith(t, set, func(w *world) {
				m := w.saved("m")
				in := w.begun("m", "slow 10000")
				w.pass(8 * time.Second)
				w.ok(damage(filepath.Join(w.dir, "output", string(m.ID), "1.out")))
				w.engine.box(m.ID).crash()
				if in = w.wait("m", in.Seq); in.ErrorName != "MachineStopped" || !in.RolledBack {
					t.Fatalf("%+v", in)
				}
				w.effects("m", "0")
			})
		})
	}
}

// Code that brings its sandbox down is not brought back again and again, unless it gets on
// meanwhile.
func TestWhatComesToNothingTwiceIsOver(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.begun("m", "wait")
		for range 2 {
			w.pass(70 * time.Second)
			w.engine.box(m.ID).crash()
			w.inState("m", machine.Running)
		}
		w.engine.box(m.ID).crash()
		in := w.wait("m", 1)
		if in.ErrorName != "MachineStopped" || !in.RolledBack || !strings.Contains(in.Error, "returned to its state after step 1") {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}

// Code that ends its own Python, or does not stop when it is told to, does so again: it is over.
func TestWhatEndsItselfDoesNotGoOn(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.begun("m", "stubborn")
		w.pass(70 * time.Second)
		w.ok(w.at("m").Interrupt(w.ctx))
		if in := w.wait("m", 1); in.ErrorName != "KeyboardInterrupt" || !in.RolledBack {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}
