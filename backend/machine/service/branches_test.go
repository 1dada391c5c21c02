package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

func (w *world) branches(name string) []machine.Branch {
	w.t.Helper()
	branches, err := w.at(name).Branches(w.ctx)
	w.ok(err)
	return branches
}

func (w *world) checkpoints(name string) []machine.Checkpoint {
	w.t.Helper()
	all, err := w.at(name).Checkpoints(w.ctx)
	w.ok(err)
	return all
}

// back rewinds a machine.
func (w *world) back(name, to, keepAs string) machine.Machine {
	w.t.Helper()
	m, err := w.at(name).Rewind(w.ctx, to, keepAs)
	w.ok(err)
	return m
}

// rolledBack says of the first instructions whether their effect is gone.
func (w *world) rolledBack(name string, want ...bool) {
	w.t.Helper()
	for seq, lost := range want {
		in, err := w.at(name).Instruction(w.ctx, seq)
		w.ok(err)
		if in.RolledBack != lost {
			w.t.Errorf("instruction %d is rolled back: %v", seq, in.RolledBack)
		}
	}
}

// What a rewind leaves stays as a branch, which is gone back to by its name; the history says at
// each time what is in effect.
func TestWhatARewindLeavesIsABranch(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		w.run("m", "print 1")
		w.run("m", "print 2")
		w.pass(3 * time.Second)
		m := w.back("m", first.ID, "")
		left := w.branches("m")
		if len(left) != 1 || left[0].Steps != 2 || left[0].Named || left[0].LastSeq != 2 || left[0].Checkpoint != m.Undo || !strings.Contains(left[0].Name, time.Now().Format("2 January")) {
			t.Fatalf("%+v, undone with %q", left, m.Undo)
		}
		w.rolledBack("m", false, true, true)
		w.run("m", "print 3")

		m = w.back("m", left[0].Name, "third")
		w.rolledBack("m", false, false, false, true)
		w.effects("m", "0 1 2")
		if left = w.branches("m"); len(left) != 1 || left[0].Name != "third" || !left[0].Named || left[0].Steps != 1 || left[0].Checkpoint != m.Undo {
			t.Fatalf("%+v", left)
		}
		m = w.back("m", "Third", "")
		w.effects("m", "0 3")
		if left = w.branches("m"); len(left) != 1 || left[0].Named || left[0].Steps != 3 || m.Branch != "third" {
			t.Fatalf("on %q: %+v", m.Branch, left)
		}

		// Left again, it has its name again, and so after a restart.
		w.close()
		w.open()
		m = w.back("m", first.ID, "")
		if left = w.branches("m"); len(left) != 2 || left[0].Name != "third" || !left[0].Named || m.Branch != "" || m.Undo != left[0].Checkpoint {
			t.Fatalf("on %q: %+v", m.Branch, left)
		}
		if _, err := w.at("m").Rewind(w.ctx, "no such branch", ""); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

// There and back again, nothing is left over, however often.
func TestARewindThatIsUndoneLeavesNothing(t *testing.T) {
	for _, awake := range []bool{true, false} {
		inTime(t, func(w *world) {
			w.saved("m")
			first := w.checkpoints("m")[0]
			w.run("m", "print 1")
			w.pass(3 * time.Second)
			last := w.checkpoints("m")[0]
			for range 3 {
				if m := w.back("m", first.ID, ""); m.Undo != last.ID || len(w.branches("m")) != 1 {
					t.Fatalf("undone with %q: %+v", m.Undo, w.branches("m"))
				}
				if awake {
					w.ok(w.at("m").Wake(w.ctx))
				}
				if m := w.back("m", last.ID, ""); m.Undo != first.ID || len(w.branches("m")) != 0 {
					t.Fatalf("undone with %q: %+v", m.Undo, w.branches("m"))
				}
				if awake {
					w.ok(w.at("m").Wake(w.ctx))
					last = w.checkpoints("m")[0]
				}
			}
			if all := w.checkpoints("m"); len(all) != 2 {
				t.Errorf("%+v", all)
			}
			w.rolledBack("m", false, false)
			w.effects("m", "0 1")
		})
	}
}

// Checkpoints of a version that did not keep where they came from are gone back to like others.
func TestCheckpointsWithoutParentsAreGoneBackTo(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.run("m", "print 1")
		w.pass(3 * time.Second)
		w.close()
		w.openStore()
		all, err := w.store.Checkpoints(w.ctx, m.ID)
		w.ok(err)
		for _, rec := range all {
			rec.Parent = ""
			w.ok(w.store.Write(w.ctx, func(put machine.Writer) error {
				return errors.Join(put.RemoveCheckpoint(rec.ID), put.PutCheckpoint(rec))
			}))
		}
		w.closeStore()
		w.open()
		w.back("m", all[1].ID, "")
		w.back("m", all[0].ID, "")
		if left := w.branches("m"); len(left) != 1 || left[0].Steps != 0 {
			t.Errorf("%+v", left)
		}
		w.effects("m", "0 1")
	})
}

// A branch that somebody named stays; of the others the last ones do. However many there are, there
// is a way back.
func TestBranchesAreBounded(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		w.run("m", "print x")
		w.back("m", first.ID, "mine")
		for range 25 {
			w.run("m", "print x")
			w.back("m", first.ID, "")
		}
		left := w.branches("m")
		if len(left) != 21 || left[20].Name != "mine" || left[19].LastSeq != 7 {
			t.Fatalf("%d: %+v", len(left), left)
		}
		for i, b := range left {
			if slices.ContainsFunc(left[:i], func(o machine.Branch) bool { return o.Name == b.Name }) {
				t.Errorf("two are called %q", b.Name)
			}
		}
		for i := range 49 {
			w.ok(w.at("m").RenameBranch(w.ctx, w.branches("m")[0].Name, fmt.Sprint("named ", i)))
			w.run("m", "print x")
			w.back("m", first.ID, "")
		}
		w.run("m", "print x")
		if err := w.at("m").RenameBranch(w.ctx, w.branches("m")[0].Name, "one more"); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("renamed: %v", err)
		}
		if _, err := w.at("m").Rewind(w.ctx, first.ID, "one more"); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("left: %v", err)
		}
		w.SetSettings(service.Settings{KeepAll: time.Second, KeepHourly: time.Second, KeepDaily: time.Second})
		w.pass(time.Hour) // longer than any automatic checkpoint stays
		if left = w.branches("m"); len(left) < 50 || len(w.checkpoints("m")) > len(left)+3 {
			t.Errorf("%d branches, %d checkpoints", len(left), len(w.checkpoints("m")))
		}
		w.back("m", "mine", "")
		w.rolledBack("m", false, false)
	})
}

func TestBranchesHaveNamesOfTheirOwn(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		for _, name := range []string{"one", "two"} {
			w.run("m", "print x")
			w.back("m", first.ID, name)
		}
		w.run("m", "print x")
		for what, want := range map[string]struct {
			err  error
			kind error
		}{
			"taken":        {w.at("m").RenameBranch(w.ctx, "one", "TWO"), machine.ErrNameTaken},
			"empty":        {w.at("m").RenameBranch(w.ctx, "one", "  "), machine.ErrInvalid},
			"long":         {w.at("m").RenameBranch(w.ctx, "one", strings.Repeat("ä", 61)), machine.ErrInvalid},
			"two lines":    {w.at("m").RenameBranch(w.ctx, "one", "a\nb"), machine.ErrInvalid},
			"none":         {w.at("m").RenameBranch(w.ctx, "three", "four"), machine.ErrNotFound},
			"left as":      {func() error { _, err := w.at("m").Rewind(w.ctx, first.ID, "One"); return err }(), machine.ErrNameTaken},
			"deleted none": {w.at("m").DeleteBranch(w.ctx, "three"), machine.ErrNotFound},
		} {
			if !errors.Is(want.err, want.kind) {
				t.Errorf("%s: %v", what, want.err)
			}
		}
		w.rolledBack("m", false, true, true, false)
		w.ok(w.at("m").RenameBranch(w.ctx, "one", "One "))
		w.back("m", "one", "")
		w.ok(w.at("m").RenameBranch(w.ctx, "one", "uno")) // which it is on
		if m := w.get("m"); m.Branch != "uno" {
			t.Errorf("on %q", m.Branch)
		}
		if err := w.at("m").DeleteBranch(w.ctx, "uno"); !errors.Is(err, machine.ErrConflict) {
			t.Errorf("%v", err)
		}
		w.pass(time.Second)
		w.back("m", "two", "dos")
		if left := w.branches("m"); len(left) != 2 || left[0].Name != "dos" {
			t.Errorf("%+v", left)
		}
	})
}

// A branch goes with what only it has: what other lines come from stays, and what was kept by hand.
func TestABranchIsDeletedWithWhatOnlyItHas(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		shared := w.checkpoints("m")[0]
		w.run("m", "print 1")
		w.pass(3 * time.Second)
		kept, err := w.at("m").Checkpoint(w.ctx, "mine")
		w.ok(err)
		for range 3 {
			w.run("m", "print x")
			w.pass(3 * time.Second)
		}
		w.back("m", shared.ID, "left")
		w.run("m", "print y")
		w.pass(3 * time.Second)
		if all := w.checkpoints("m"); len(all) != 6 {
			t.Fatalf("%+v", all)
		}
		w.ok(w.at("m").DeleteBranch(w.ctx, "left"))
		w.pass(time.Second)
		var ids []string
		for _, c := range w.checkpoints("m") {
			ids = append(ids, c.ID)
		}
		if len(ids) != 3 || !slices.Contains(ids, shared.ID) || !slices.Contains(ids, kept.ID) || w.engine.count() != 3 {
			t.Errorf("there are %q, and %d", ids, w.engine.count())
		}
		if m := w.get("m"); m.Undo != "" || len(w.branches("m")) != 0 {
			t.Errorf("undone with %q: %+v", m.Undo, w.branches("m"))
		}
		w.back("m", kept.ID, "")
		w.effects("m", "0 1")
	})
}

// A fork is a machine of its own: it has neither the branches nor the way back of the one that it
// comes from.
func TestAForkHasNoBranches(t *testing.T) {
	inTime(t, func(w *world) {
		w.saved("m")
		first := w.checkpoints("m")[0]
		w.run("m", "print 1")
		w.back("m", first.ID, "left")
		left := w.branches("m")[0]
		_, err := w.at("m").Fork(w.ctx, left.Checkpoint, machine.CreateOptions{Name: "f"})
		w.ok(err)
		if f := w.get("f"); f.Undo != "" || f.Branch != "" || len(w.branches("f")) != 0 {
			t.Errorf("%+v, %+v", f, w.branches("f"))
		}
		w.effects("f", "0 1")
		if len(w.branches("m")) != 1 {
			t.Error("the branch is gone")
		}
	})
}
