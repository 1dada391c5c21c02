package service_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// What a machine wakes from stays as it is; what is older is shrunk, once, and can be returned to;
// what is deleted is collected.
func TestOlderCheckpointsAreShrunk(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		first, err := w.at("m").Checkpoint(w.ctx, "first")
		w.ok(err)
		shrunk := func(when string, want bool, id string) {
			t.Helper()
			if slices.Contains(w.engine.allShrunk(), id) != want {
				t.Errorf("%s, shrunk are %q; %s ought to be: %v", when, w.engine.allShrunk(), id, want)
			}
		}
		base := func() string {
			t.Helper()
			all, err := w.at("m").Checkpoints(w.ctx)
			w.ok(err)
			return all[0].ID
		}
		w.ok(w.at("m").Swap(w.ctx))
		w.pass(time.Minute)
		shrunk("swapped", true, first.ID)
		shrunk("swapped", false, base())
		if sealed := w.engine.allSealed(); !slices.Equal(sealed, []string{base()}) {
			t.Errorf("sealed are %q, and it wakes from %s", sealed, base())
		}
		w.run("m", "print 1")
		second, err := w.at("m").Checkpoint(w.ctx, "second")
		w.ok(err)
		w.pass(10 * time.Second)
		shrunk("just saved", false, second.ID)
		w.pass(time.Minute)
		shrunk("in memory for long", true, second.ID)
		w.run("m", "print 2")
		w.ok(w.at("m").Swap(w.ctx))
		w.pass(time.Minute)
		shrunk("swapped again", false, base())
		if once := slices.Compact(slices.Sorted(slices.Values(w.engine.allShrunk()))); len(once) != len(w.engine.allShrunk()) {
			t.Errorf("shrunk twice: %q", w.engine.allShrunk())
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		i := slices.IndexFunc(all, func(c machine.Checkpoint) bool { return c.ID == first.ID })
		if all[i].Size != 1 || all[0].Size == 1 {
			t.Errorf("%+v", all)
		}
		_, err = w.at("m").Rewind(w.ctx, first.ID, "")
		w.ok(err)
		if got := value(w.run("m", "list")); got != "0" {
			t.Errorf("after the rewind there is %q", got)
		}
		before := w.engine.collections()
		w.ok(w.at("m").DeleteCheckpoint(w.ctx, second.ID))
		w.pass(time.Minute)
		if w.engine.collections() == before {
			t.Error("nothing was collected")
		}
	})
}

// Who asks for a checkpoint or a fork does not wait for what makes automatic ones small.
func TestWhatIsAwaitedIsKeptSoon(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.engine.set(func() { w.engine.keepTakes, w.engine.settleTakes = time.Hour, time.Second })
		start := time.Now()
		_, err := w.at("m").Checkpoint(w.ctx, "by hand")
		w.ok(err)
		w.run("m", "print 1")
		_, err = w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"})
		w.ok(err)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("it took %v", d)
		}
		w.engine.set(func() { w.engine.keepTakes = 0 })
	})
}

// The machine goes on as soon as it has been saved; that the checkpoint is kept takes its own time,
// and until then it does not count.
func TestKeepingDelaysNobody(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		w.engine.mu.Lock()
		w.engine.keepTakes, w.engine.saveTakes = 20*time.Second, 100*time.Millisecond
		w.engine.mu.Unlock()
		w.run("m", "print 1")
		w.pass(3 * time.Second) // it is being kept now
		start := time.Now()
		w.run("m", "print 2")
		if d := time.Since(start); d > time.Second {
			t.Errorf("an instruction took %v", d)
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 1 || all[0].LastSeq != 0 {
			t.Errorf("what is not kept yet counts: %+v", all)
		}
		w.pass(time.Minute)
		all, err = w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) < 2 || all[0].LastSeq != 2 {
			t.Errorf("%+v", all)
		}
		w.engine.mu.Lock()
		w.engine.keepTakes, w.engine.keepErr = 0, errors.New("the disk is gone")
		w.engine.mu.Unlock()
		if _, err := w.at("m").Checkpoint(w.ctx, "never kept"); err == nil {
			t.Error("a checkpoint that cannot be kept is told to be made")
		}
		if again, err := w.at("m").Checkpoints(w.ctx); err != nil || len(again) != len(all) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
