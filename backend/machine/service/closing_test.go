package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// What was saved for the end of the service stays so, however long the others take.
func TestCloseWakesNothingThatItHasSaved(t *testing.T) {
	inTime(t, func(w *world) {
		slow := w.used("slow")
		quick := w.create("quick")
		w.exec("quick", "wait")
		w.begun("quick", "print 1")
		w.engine.set(func() { w.engine.slowToSave = map[machine.ID]time.Duration{slow.ID: 20 * time.Second} })
		w.close()
		w.engine.set(func() {
			if w.engine.starts != 2 {
				t.Errorf("%d starts of 2 machines", w.engine.starts)
			}
		})
		w.open()
		w.inState("quick", machine.Running)
		w.engine.box(quick.ID).poke("release")
		if in := w.wait("quick", 1); in.Status != machine.StatusOK || in.Notice != "" {
			t.Fatalf("%+v", in)
		}
	})
}

// A machine that is to be tried again later does not hold up the end.
func TestCloseWaitsForNoLaterTry(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.begun("m", "wait")
		w.close()
		w.engine.set(func() { w.engine.startErr = errors.New("Docker is not running") })
		w.open()
		w.inState("m", machine.Swapped)
		start := time.Now()
		w.close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		w.open()
	})
}
