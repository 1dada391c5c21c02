package machine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Where one instruction follows on another, the machine is saved between them now and then, and each waits no longer than it stands still for that.
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
		for range 8 {
			last = w.exec("m", "slow 1000") // a second
		}
		last = w.wait("m", last.Seq)
		saved := w.engine.count() - before
		took := time.Since(start)
		if last.Status != machine.StatusOK || saved < 2 || saved > 4 {
			t.Errorf("saved %d times in %v; %+v", saved, took, last)
		}
		if late := took - 8*time.Second; late > time.Duration(saved)*150*time.Millisecond {
			t.Errorf("%d saves of 100 ms cost %v", saved, late)
		}
		w.pass(time.Minute)
		all, err := w.Checkpoints(w.ctx, "m")
		w.ok(err)
		if all[0].LastSeq != last.Seq || all[0].RunningSeq != nil {
			t.Errorf("the newest is %+v", all[0])
		}
		w.effects("m", "0 1 2 3 4 5 6 7 8")
	})
}

func TestCheckpointsAreMadeAsOftenAsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		every       time.Duration
		least, most int
	}{"each": {0, 6, 6}, "at most one in five minutes": {5 * time.Minute, 2, 3}, "manual": {-1, 0, 0}} {
		t.Run(name, func(t *testing.T) {
			inTimeWith(t, machine.Settings{CheckpointEvery: c.every, IdleSwap: 24 * time.Hour}, func(w *world) {
				w.create("m")
				for i := range 6 {
					w.run("m", fmt.Sprintf("print %d", i))
					w.pass(2 * time.Minute)
				}
				all, err := w.Checkpoints(w.ctx, "m")
				w.ok(err)
				if len(all) < c.least || len(all) > c.most {
					t.Errorf("there are %d: %+v", len(all), all)
				}
				w.ok(w.Swap(w.ctx, "m")) // saved in any case
				w.effects("m", "0 1 2 3 4 5")
			})
		})
	}
}

// Many machines that fall idle together are saved one after another, and those go first that somebody starts meanwhile.
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
			all, err := w.Checkpoints(w.ctx, fmt.Sprint("idle", i))
			w.ok(err)
			if len(all) == 0 {
				t.Errorf("idle%d was not saved", i)
			}
		}
	})
}
