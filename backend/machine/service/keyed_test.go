package service_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

func TestSentTwiceWithOneKeyItRunsOnce(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("a")
		opts := machine.ExecuteOptions{Code: "one", Key: "k"}
		first := w.execWith("a", opts)
		w.execWith("a", machine.ExecuteOptions{Code: "wait"})
		// While other code runs, from a daemon that has ended, and with the wish to interrupt: it
		// is the same one.
		if again := w.execWith("a", opts); again.Seq != first.Seq {
			t.Errorf("it is instruction %d again", again.Seq)
		}
		w.die()
		w.open()
		again, interrupted, err := w.at("a").Execute(w.ctx, machine.ExecuteOptions{Code: "one", Key: "k", Interrupt: true})
		if err != nil || again.Seq != first.Seq || interrupted {
			t.Errorf("after a restart: %+v, interrupted %v, %v", again, interrupted, err)
		}
		if _, _, err := w.at("a").Execute(w.ctx, machine.ExecuteOptions{Code: "two", Key: "k"}); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("other code under the same key: %v", err)
		}
		if _, _, err := w.at("a").Execute(w.ctx, machine.ExecuteOptions{Code: "one", Key: strings.Repeat("k", 65)}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("a key that is too long: %v", err)
		}
		w.engine.box(first.Machine).poke("release")
		if n := w.get("a").NextSeq; n != 2 {
			t.Errorf("%d instructions, want 2", n)
		}
	})
}
