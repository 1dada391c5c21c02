package machine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// What a machine wakes from stays as it is; what is older is shrunk, once, and can be returned to; what is deleted is collected.
func TestOlderCheckpointsAreShrunk(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		first, err := w.Checkpoint(w.ctx, "m", "first")
		w.ok(err)
		w.pass(time.Minute)
		if len(w.engine.shrunk) > 0 {
			t.Errorf("shrunk are %q, which the machine would wake from", w.engine.shrunk)
		}
		w.run("m", "print 1")
		second, err := w.Checkpoint(w.ctx, "m", "second")
		w.ok(err)
		w.run("m", "print 2")
		w.pass(time.Minute)
		if !slices.Equal(w.engine.shrunk, []string{first.ID, second.ID}) {
			t.Errorf("shrunk are %q, not %q and %q", w.engine.shrunk, first.ID, second.ID)
		}
		all, err := w.Checkpoints(w.ctx, "m")
		w.ok(err)
		i := slices.IndexFunc(all, func(c machine.Checkpoint) bool { return c.ID == first.ID })
		if all[i].Size != 1 || all[0].Size == 1 {
			t.Errorf("%+v", all)
		}
		_, err = w.Rewind(w.ctx, "m", first.ID)
		w.ok(err)
		if got := value(w.run("m", "list")); got != "0" {
			t.Errorf("after the rewind there is %q", got)
		}
		before := w.engine.collected
		w.ok(w.DeleteCheckpoint(w.ctx, "m", second.ID))
		w.pass(time.Minute)
		if w.engine.collected == before {
			t.Error("nothing was collected")
		}
	})
}
