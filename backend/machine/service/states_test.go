package service_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/service"
)

func TestRewindAndItsUndoing(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.run("m", "print 1")
		early, err := w.at("m").Checkpoint(w.ctx, "early")
		w.ok(err)
		if early.Kind != machine.CheckpointManual || early.LastSeq != 1 || early.Label != "early" {
			t.Fatalf("%+v", early)
		}
		w.run("m", "print 2")
		m, err := w.at("m").Rewind(w.ctx, early.ID, "")
		w.ok(err)
		if m.NextSeq != 3 {
			t.Fatalf("numbers do not go on: %+v", m)
		}
		w.effects("m", "0 1") // 3
		if in, _ := w.at("m").Instruction(w.ctx, 2); !in.RolledBack {
			t.Fatal("2 is not marked")
		}
		_, err = w.at("m").Rewind(w.ctx, m.Undo, "")
		w.ok(err)
		w.effects("m", "0 1 2") // 4
		for seq, lost := range []bool{false, false, false, true, false} {
			if in, _ := w.at("m").Instruction(w.ctx, seq); in.RolledBack != lost {
				t.Errorf("instruction %d: rolled back %v, want %v", seq, in.RolledBack, lost)
			}
		}
	})
}

func TestRewindToTheMiddleOfAnInstructionStopsIt(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.begun("m", "wait")
		middle, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		if middle.RunningSeq == nil || *middle.RunningSeq != 1 {
			t.Fatalf("%+v", middle)
		}
		w.engine.box(m.ID).poke("release")
		w.wait("m", 1)
		_, err = w.at("m").Rewind(w.ctx, middle.ID, "")
		w.ok(err)
		w.effects("m", "0")
		if in, _ := w.at("m").Instruction(w.ctx, 1); in.Status != machine.StatusOK || !in.RolledBack {
			t.Fatalf("the record: %+v", in)
		}
	})
}

func TestRewindEndsWhatRunsAndWaits(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c, err := w.at("m").Checkpoint(w.ctx, "")
		w.ok(err)
		w.exec("m", "stubborn")
		w.begun("m", "print 2")
		_, err = w.at("m").Rewind(w.ctx, c.ID, "")
		w.ok(err)
		if in := w.wait("m", 1); in.ErrorName != "MachineStopped" {
			t.Fatalf("%+v", in)
		}
		if in := w.wait("m", 2); in.Status != machine.StatusCancelled {
			t.Fatalf("%+v", in)
		}
		w.effects("m", "0")
	})
}

func TestForkHasHistoryAndGoesItsOwnWay(t *testing.T) {
	inTime(t, func(w *world) {
		p := w.used("parent")
		w.begun("parent", "wait")
		f, err := w.at("parent").Fork(w.ctx, "", machine.CreateOptions{Name: "child"})
		w.ok(err)
		if f.Parent == nil || f.Parent.Name != "parent" || f.NextSeq != 2 {
			t.Fatalf("%+v", f)
		}
		w.inState("child", machine.Running)
		w.engine.box(f.ID).poke("release")
		if in := w.wait("child", 1); in.Status != machine.StatusOK {
			t.Fatalf("what ran goes on in the fork: %+v", in)
		}
		if in, err := w.at("parent").Instruction(w.ctx, 1); err != nil || in.Status != machine.StatusRunning {
			t.Fatalf("the parent is disturbed: %+v %v", in, err)
		}
		items, err := w.at("child").Items(w.ctx, 0, 0, 10)
		w.ok(err)
		if len(items) != 1 || string(items[0].Text) != "0" {
			t.Fatalf("history: %+v", items)
		}
		w.effects("child", "0 1")
		w.engine.box(p.ID).poke("release")
		w.wait("parent", 1)
		hits, err := w.Search(w.ctx, machine.SearchQuery{Text: "print"})
		w.ok(err)
		if len(hits.Items) != 2 {
			t.Fatalf("search finds %+v", hits.Items)
		}
	})
}

func TestBinKeepsSevenDaysAndPurgeLeavesNothing(t *testing.T) {
	inTimeWith(t, service.Settings{Output: output.Limits{Head: 64, Tail: 64, Items: 4}}, func(w *world) {
		m := w.create("m")
		w.run("m", "flood 500")
		w.exec("m", "wait")
		w.begun("m", "print never")
		w.ok(w.at("m").Delete(w.ctx))
		w.inState("m", machine.Deleted)
		if in := w.wait("m", 1); in.ErrorName != "MachineStopped" {
			t.Fatalf("running: %+v", in)
		}
		if in := w.wait("m", 2); in.Status != machine.StatusCancelled {
			t.Fatalf("waiting: %+v", in)
		}
		if _, _, err := w.at("m").Execute(w.ctx, machine.ExecuteOptions{Code: "list"}); !errors.Is(err, machine.ErrConflict) {
			t.Fatalf("execute in the bin: %v", err)
		}
		page, err := w.List(w.ctx, machine.Filter{})
		w.ok(err)
		bin, err := w.List(w.ctx, machine.Filter{Deleted: true})
		w.ok(err)
		if len(page.Items) != 0 || len(bin.Items) != 1 {
			t.Fatalf("list %d, bin %d", len(page.Items), len(bin.Items))
		}
		w.pass(6 * 24 * time.Hour)
		w.ok(w.at("m").Restore(w.ctx))
		w.effects("m", "0")
		w.ok(w.at("m").Delete(w.ctx))
		w.pass(7*24*time.Hour + 2*time.Minute)
		if _, err := w.Find(w.ctx, "m"); !errors.Is(err, machine.ErrNotFound) {
			t.Fatalf("after a week: %v", err)
		}
		if len(w.engine.purged) != 1 || w.engine.purged[0] != m.ID {
			t.Fatalf("purged %v", w.engine.purged)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "output", string(m.ID))); !os.IsNotExist(err) {
			t.Fatalf("overflow files: %v", err)
		}
		for _, f := range []string{"history.db", "history.db-wal"} {
			b, err := os.ReadFile(filepath.Join(w.dir, f))
			w.ok(err)
			for _, trace := range []string{"never", "line 3", "flood"} {
				if strings.Contains(string(b), trace) {
					t.Errorf("%q is still in %s", trace, f)
				}
			}
		}
	})
}

func TestFreeingSpaceDeletesWhatWasChosenAlone(t *testing.T) {
	inTime(t, func(w *world) {
		gone, back := w.create("gone"), w.create("back")
		for _, name := range []string{"gone", "back"} {
			w.run(name, "list")
			w.ok(w.at(name).Delete(w.ctx))
		}
		w.ok(w.at("back").Restore(w.ctx))
		w.ok(w.FreeUp(w.ctx, false, true))
		w.inState("gone", machine.Deleted)
		w.ok(w.FreeUp(w.ctx, true, false))
		if !slices.Equal(w.engine.purged, []machine.ID{gone.ID}) {
			t.Errorf("purged %v", w.engine.purged)
		}
		use, err := w.CheckpointUse(w.ctx)
		w.ok(err)
		if len(use) != 1 || use[0].Machine.ID != back.ID || use[0].Passing != 0 {
			t.Errorf("%+v", use)
		}
		w.effects("back", "0")
	})
}

// Threads go on when no instruction runs, so a save of a while ago is not the present state.
func TestTheBinKeepsWhatThreadsDid(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.used("m")
		w.pass(time.Minute)
		w.engine.box(m.ID).thread("thread")
		w.ok(w.at("m").Delete(w.ctx))
		w.ok(w.at("m").Restore(w.ctx))
		w.effects("m", "0 thread")
	})
}

// What is purged is purged, though its traces leave the files only when nobody reads them.
func TestAPurgeSucceedsBeforeItsTracesAreGone(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		var tries, refused atomic.Int32
		w.wrap = func(s machine.Store) machine.Store { return read{s, &tries, &refused} }
		w.open()
		w.pass(time.Second)
		w.create("m")
		before := tries.Load()
		refused.Store(30)
		w.ok(w.at("m").Purge(w.ctx))
		w.pass(2 * time.Minute)
		if n := tries.Load() - before; n != 31 {
			t.Errorf("tried %d times, want 31", n)
		}
	})
}

// read is a store whose files somebody reads for as many tries.
type read struct {
	machine.Store
	tries, refused *atomic.Int32
}

func (r read) Scrub(ctx context.Context) error {
	r.tries.Add(1)
	if r.refused.Load() > 0 {
		r.refused.Add(-1)
		return errors.New("the database is being read")
	}
	return r.Store.Scrub(ctx)
}

func TestExpiryMovesToTheBin(t *testing.T) {
	inTime(t, func(w *world) {
		at := time.Now().Add(time.Hour)
		_, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", ExpiresAt: &at})
		w.ok(err)
		w.pass(59 * time.Minute)
		if m := w.get("m"); m.State == machine.Deleted {
			t.Fatal("too early")
		}
		w.pass(3 * time.Minute)
		w.inState("m", machine.Deleted)
		w.ok(w.at("m").Restore(w.ctx))
		w.pass(time.Hour)
		if m := w.get("m"); m.State == machine.Deleted || m.ExpiresAt != nil {
			t.Fatalf("restored: %+v", m)
		}
		past := time.Now().Add(-time.Second)
		if _, err := w.Create(w.ctx, machine.CreateOptions{ExpiresAt: &past}); !errors.Is(err, machine.ErrInvalid) {
			t.Fatalf("an expiry in the past: %v", err)
		}
	})
}

func TestNames(t *testing.T) {
	inTime(t, func(w *world) {
		a := w.create("")
		if parts := strings.Split(a.Name, "-"); len(parts) != 3 {
			t.Fatalf("made up: %q", a.Name)
		}
		for _, bad := range []string{
			"new", "list", "Upper", "-x", "x-", "a b", strings.Repeat("x", 64), "ü", ".", "..", "../x", "a/b", "/etc", `a\b`, "a.b", "%2e%2e", "a%2fb", "a?b", "a#b",
			"a\x00", "a\nb", "a\r\nb", "a\x1b[2J", "a\u202eb", "$(id)", "a;b", "a:b", "~", "*",
		} {
			if _, err := w.Create(w.ctx, machine.CreateOptions{Name: bad}); !errors.Is(err, machine.ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
			if _, err := w.Find(w.ctx, bad); !errors.Is(err, machine.ErrNotFound) {
				t.Errorf("%q is asked for: %v", bad, err)
			}
		}
		w.create("one")
		name := "two"
		_, err := w.at("one").Update(w.ctx, machine.Change{Name: &name})
		w.ok(err)
		if m := w.get("one"); m.Name != "two" {
			t.Fatalf("the old name leads to %q", m.Name)
		}
		if _, err := w.Create(w.ctx, machine.CreateOptions{Name: "one"}); !errors.Is(err, machine.ErrNameTaken) {
			t.Fatalf("an old name is free: %v", err)
		}
		back := "one"
		_, err = w.at("two").Update(w.ctx, machine.Change{Name: &back})
		w.ok(err)
		w.close()
		w.open()
		if m := w.get("two"); m.Name != "one" {
			t.Fatalf("after a restart: %q", m.Name)
		}
	})
}

func TestTagsAreBounded(t *testing.T) {
	inTime(t, func(w *world) {
		many := map[string]string{}
		for i := range 10_000 {
			many[fmt.Sprint("t", i)] = "x"
		}
		for what, tags := range map[string]map[string]string{
			"10,000": many, "a long name": {strings.Repeat("x", 10_000): "x"}, "a long value": {"x": strings.Repeat("x", 100_000)}, "no name": {"": "x"},
		} {
			if _, err := w.Create(w.ctx, machine.CreateOptions{Tags: tags}); !errors.Is(err, machine.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		title, huge, color, blue := "A title", 1<<30, "color", "blue"
		if _, err := w.at("m").Update(w.ctx, machine.Change{Title: &title, MemoryMB: &huge}); !errors.Is(err, machine.ErrInvalid) {
			t.Fatalf("%v", err)
		}
		if m := w.get("m"); m.Title != "" {
			t.Fatalf("half of it was done: %+v", m)
		}
		mb := 512
		m, err := w.at("m").Update(w.ctx, machine.Change{Title: &title, MemoryMB: &mb, Tags: map[string]*string{color: &blue}})
		w.ok(err)
		if m.Title != title || m.MemoryMB != 512 || m.Tags[color] != blue {
			t.Fatalf("%+v", m)
		}
		page, err := w.List(w.ctx, machine.Filter{Tags: map[string]string{color: blue}})
		w.ok(err)
		if len(page.Items) != 1 {
			t.Fatalf("by tag: %+v", page)
		}
		m, err = w.at("m").Update(w.ctx, machine.Change{Tags: map[string]*string{color: nil}})
		w.ok(err)
		if len(m.Tags) != 0 {
			t.Fatalf("%+v", m)
		}
	})
}

func TestLeastRecentlyUsedLeaveMemoryFirst(t *testing.T) {
	inTimeWith(t, service.Settings{MaxInMemory: 200 << 20}, func(w *world) { // a scripted machine takes 80 MiB
		for _, name := range []string{"a", "b", "c"} {
			w.create(name)
			w.run(name, "print x")
			w.pass(time.Second)
		}
		w.run("a", "print y")
		w.pass(20 * time.Second)
		w.inState("b", machine.Swapped)
		w.inState("a", machine.Idle)
		w.inState("c", machine.Idle)
	})
}

func TestMemoryWarning(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		b := w.engine.box(m.ID)
		b.mu.Lock()
		b.used = 1900 << 20
		b.mu.Unlock()
		w.pass(20 * time.Second)
		if got := w.get("m"); !strings.Contains(got.Notice, "close to its memory limit") {
			t.Fatalf("notice %q", got.Notice)
		}
	})
}

func TestDeletedCheckpointOfThePresentStateStaysUntilReplaced(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		c, err := w.at("m").Checkpoint(w.ctx, "mine")
		w.ok(err)
		w.ok(w.at("m").Swap(w.ctx))
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 2 {
			t.Fatalf("%+v", all)
		}
		if err := w.at("m").DeleteCheckpoint(w.ctx, all[0].ID); !errors.Is(err, machine.ErrConflict) {
			t.Fatalf("the present state could be deleted: %v", err)
		}
		w.ok(w.at("m").DeleteCheckpoint(w.ctx, c.ID))
		if err := w.at("m").DeleteCheckpoint(w.ctx, "nonsense"); !errors.Is(err, machine.ErrNotFound) {
			t.Fatalf("%v", err)
		}
		synctest.Wait()
		if n := w.engine.count(); n != 1 {
			t.Fatalf("%d checkpoints", n)
		}
		w.effects("m", "0")
	})
}

// Who reads a machine page by page is told when it was purged in between, and does not take what
// there was for all.
func TestAPurgedMachineIsNotAnEmptyOne(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.run("m", "one")
		m := w.at("m")
		w.ok(m.Purge(w.ctx))
		_, instructions := m.Instructions(w.ctx, machine.InstructionQuery{})
		_, plots := m.Plots(w.ctx, machine.PlotQuery{})
		_, checkpoints := m.Checkpoints(w.ctx)
		_, branches := m.Branches(w.ctx)
		_, network := m.Network(w.ctx)
		_, connections := m.Connections(w.ctx, machine.ConnectionQuery{})
		for what, err := range map[string]error{
			"instructions": instructions, "plots": plots, "checkpoints": checkpoints, "branches": branches,
			"network": network, "connections": connections, "cancelling": m.Cancel(w.ctx, 0),
		} {
			if !errors.Is(err, machine.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
