package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// differences are the differences, one a line.
func differences(c machine.Comparison) string {
	var all []string
	for _, v := range c.Variables {
		all = append(all, fmt.Sprintf("%s %s", v.Change, v.Name))
	}
	for _, f := range c.Files {
		all = append(all, fmt.Sprintf("%s %s", f.Change, f.Path))
	}
	for _, s := range c.OnlyA {
		all = append(all, fmt.Sprintf("a %d %s", s.Seq, s.Title))
	}
	for _, s := range c.OnlyB {
		all = append(all, fmt.Sprintf("b %d %s", s.Seq, s.Title))
	}
	return strings.Join(all, "\n")
}

// holds checks what a state holds, without waking or changing the machine.
func (w *world) holds(state, variables, files string) {
	w.t.Helper()
	found, err := w.at("m").Contents(w.ctx, state)
	w.ok(err)
	var names, paths []string
	for _, v := range found.Variables {
		names = append(names, v.Name)
	}
	for _, f := range found.Files {
		paths = append(paths, f.Name)
	}
	if got := strings.Join(names, " "); got != variables {
		w.t.Errorf("%s holds %q, not %q", state, got, variables)
	}
	if got := strings.Join(paths, " "); got != files {
		w.t.Errorf("%s has the files %q, not %q", state, got, files)
	}
}

func (w *world) compared(a, b, want string) {
	w.t.Helper()
	c, err := w.at("m").Compare(w.ctx, a, b)
	w.ok(err)
	if got := differences(c); got != strings.TrimSpace(want) {
		w.t.Errorf("%q and %q differ in\n%s", a, b, got)
	}
}

// leftNothing checks that what was looked at is gone, and that it was nobody's machine.
func (w *world) leftNothing(copies int) {
	w.t.Helper()
	w.pass(time.Second)
	w.engine.set(func() {
		if len(w.engine.copied) != copies || len(w.engine.purged) < copies {
			w.t.Errorf("copied to %v, purged %v", w.engine.copied, w.engine.purged)
		}
		for _, id := range w.engine.copied {
			if !slices.Contains(w.engine.purged, id) {
				w.t.Errorf("%s is left", id)
			}
			if b := w.engine.boxes[id]; b != nil && (!b.over() || w.engine.specs[id].Connect != nil) {
				w.t.Errorf("%s is in memory, or was connected", id)
			}
		}
	})
	page, err := w.List(w.ctx, machine.Filter{})
	w.ok(err)
	left, err := w.store.Garbage(w.ctx)
	w.ok(err)
	if len(page.Items) != 1 || len(left) != 0 {
		w.t.Errorf("machines %+v, garbage %+v", page.Items, left)
	}
}

func TestStatesAreCompared(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		w.run("m", "print 1")
		w.pass(3 * time.Second)
		w.back("m", first.ID, "left")
		w.run("m", "print 2")
		_, err := w.at("m").PutFile(w.ctx, "data.csv", strings.NewReader("x"))
		w.ok(err)
		before := w.get("m")

		w.compared(first.ID, "left", "added i1\nb 1 print 1")
		w.compared("left", first.ID, "removed i1\na 1 print 1")
		w.compared(first.ID, first.ID, "")
		w.holds("left", "i0 i1", "")
		// The present state is compared as it is, saved or not.
		w.compared("left", "", "removed i1\nadded i2\nadded idata.csv+0\nadded data.csv\na 1 print 1\nb 2 print 2")
		w.leftNothing(8)
		if m := w.get("m"); m.State != before.State || m.NextSeq != before.NextSeq || m.Undo != before.Undo {
			t.Errorf("the machine is another one: %+v", m)
		}
		if _, err := w.at("m").Compare(w.ctx, "nothing", ""); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("%v", err)
		}
		w.ok(w.at("m").Swap(w.ctx))
		w.compared("", first.ID, "removed i2\nremoved idata.csv+0\nremoved data.csv\na 2 print 2")
		present := slices.IndexFunc(w.checkpoints("m"), func(c machine.Checkpoint) bool { return c.Present })
		w.holds(w.checkpoints("m")[present].ID, "i0 i2 idata.csv+0", "data.csv")
		if m := w.get("m"); m.State != machine.Swapped {
			t.Errorf("it was woken: %+v", m)
		}
		w.effects("m", "0 2 data.csv+0")
	})
}

// However a comparison ends, nothing of it is left.
func TestAComparisonThatIsNotFinishedLeavesNothing(t *testing.T) {
	for what, cut := range map[string]func(w *world, point string) (copies int){
		"a copy fails": func(w *world, point string) int {
			w.engine.set(func() { w.engine.copyErr = errors.New("the disk is broken") })
			if _, err := w.at("m").Compare(w.ctx, point, ""); err == nil {
				w.t.Errorf("it was made")
			}
			return 1
		},
		"a start fails": func(w *world, point string) int {
			w.engine.set(func() { w.engine.startErr = errors.New("the processor is another one") })
			if _, err := w.at("m").Compare(w.ctx, point, ""); err == nil || !strings.Contains(err.Error(), "the processor is another one") {
				w.t.Errorf("%v", err)
			}
			return 2
		},
		"it does not answer": func(w *world, point string) int {
			w.engine.set(func() { w.engine.mute = true })
			if _, err := w.at("m").Compare(w.ctx, point, ""); err == nil {
				w.t.Errorf("it was made")
			}
			return 2
		},
		"nobody waits for it": func(w *world, point string) int {
			w.engine.set(func() { w.engine.mute = true })
			ctx, cancel := context.WithCancel(w.ctx)
			go func() { _, _ = w.at("m").Compare(ctx, point, "") }()
			w.pass(time.Second)
			cancel()
			return 2
		},
		"the daemon ends": func(w *world, point string) int {
			w.engine.set(func() { w.engine.mute = true })
			go func() { _, _ = w.at("m").Compare(w.ctx, point, "") }()
			w.pass(time.Second)
			w.close()
			w.open()
			return 2
		},
		"the daemon dies": func(w *world, point string) int {
			w.engine.set(func() { w.engine.copyTakes = time.Hour })
			go func() { _, _ = w.at("m").Compare(w.ctx, point, "") }()
			w.pass(time.Second)
			w.die()
			w.open()
			return 1
		},
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(w *world) {
				w.saved("m")
				first := w.checkpoints("m")[0]
				w.run("m", "print 1")
				w.ok(w.at("m").Swap(w.ctx))
				copies := cut(w, first.ID)
				synctest.Wait()
				w.leftNothing(copies)
				w.engine.set(func() { w.engine.copyErr, w.engine.copyTakes, w.engine.startErr, w.engine.mute = nil, 0, nil, false })
				w.compared(first.ID, "", "added i1\nb 1 print 1")
				w.effects("m", "0 1")
			})
		})
	}
}

// What is looked at counts as memory that is taken: idle machines give way, and where there is none
// left, nothing is brought into it.
func TestAComparisonKeepsToTheMemory(t *testing.T) {
	inTimeWith(t, service.Settings{MaxInMemory: 150 << 20}, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		w.run("m", "print 1")
		w.ok(w.at("m").Swap(w.ctx))
		w.used("idle")
		w.pass(time.Minute)
		w.inState("idle", machine.Idle)
		w.compared(first.ID, "", "added i1\nb 1 print 1")
		w.inState("idle", machine.Swapped)
	})
}
