package service_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// A fork that is being made is written down as garbage, for the case that it is never finished, and
// is none.
func TestAForkThatIsBeingMadeIsNotTakenForGarbage(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c, err := w.at("m").Checkpoint(w.ctx, "c")
		w.ok(err)
		w.used("other")
		o, err := w.at("other").Checkpoint(w.ctx, "o")
		w.ok(err)
		w.run("other", "print 1")
		w.pass(3 * time.Second)
		w.engine.set(func() { w.engine.copyTakes = 5 * time.Second })
		forked := make(chan error, 1)
		go func() {
			_, err := w.at("m").Fork(w.ctx, c.ID, machine.CreateOptions{Name: "f"})
			forked <- err
		}()
		w.pass(time.Second)
		w.ok(w.at("other").DeleteCheckpoint(w.ctx, o.ID)) // which takes the garbage out
		w.pass(time.Second)
		w.engine.set(func() {
			if len(w.engine.purged) != 0 {
				t.Errorf("purged %v", w.engine.purged)
			}
		})
		w.ok(<-forked)
		w.effects("f", "0")
	})
}

// A fork that cannot be made, or is cut off by the end of the daemon, leaves no machine and no
// files.
func TestAForkThatIsNotFinishedLeavesNothing(t *testing.T) {
	for what, cut := range map[string]func(w *world){
		"it fails": func(w *world) {
			w.engine.set(func() { w.engine.copyErr = errors.New("the disk is broken") })
			if _, err := w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"}); err == nil {
				w.t.Fatal("it was made")
			}
			w.pass(time.Second)
		},
		"the daemon dies": func(w *world) {
			w.engine.set(func() { w.engine.copyTakes = time.Hour })
			go func() { _, _ = w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"}) }()
			w.pass(time.Second)
			w.die()
			w.open()
			w.pass(time.Second)
		},
	} {
		inTime(t, func(w *world) {
			w.used("m")
			w.ok(w.at("m").Swap(w.ctx))
			cut(w)
			var copied []machine.ID
			w.engine.set(func() {
				copied = slices.Clone(w.engine.copied)
				if !slices.Equal(w.engine.purged, copied) || len(copied) != 1 {
					t.Errorf("%s: copied to %v, purged %v", what, copied, w.engine.purged)
				}
				w.engine.copyErr, w.engine.copyTakes = nil, 0
			})
			page, err := w.List(w.ctx, machine.Filter{})
			w.ok(err)
			left, err := w.store.Garbage(w.ctx)
			w.ok(err)
			if len(page.Items) != 1 || len(left) != 0 {
				t.Errorf("%s: machines %+v, garbage %+v", what, page.Items, left)
			}
			if _, err = w.at("m").Fork(w.ctx, "", machine.CreateOptions{Name: "f"}); err != nil {
				t.Errorf("%s: the name is taken: %v", what, err)
			}
			w.effects("f", "0")
		})
	}
}
