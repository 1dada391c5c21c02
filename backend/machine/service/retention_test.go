//go:build !race

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

// Every instruction's state can be returned to, for a day; then there is one an hour, then one a
// day. What was kept by hand stays.
func TestCheckpointsAreThinnedOutWithAge(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		kept, err := w.at("m").Checkpoint(w.ctx, "by hand")
		w.ok(err)
		for i := range 6 {
			w.run("m", fmt.Sprintf("print %d", i+1))
			w.pass(10 * time.Minute)
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 7 {
			t.Fatalf("after seven instructions there are %d: %+v", len(all), all)
		}
		for i, c := range all {
			if c.LastSeq != 6-i {
				t.Errorf("checkpoint %d is of instruction %d", i, c.LastSeq)
			}
		}
		third := all[4]
		_, err = w.at("m").Rewind(w.ctx, third.ID, "")
		w.ok(err)
		if got := value(w.run("m", "list")); got != "0 1 2" {
			t.Errorf("after a rewind to the third there is %q", got)
		}
		for _, want := range []struct {
			after time.Duration
			most  int
		}{{25 * time.Hour, 5}, {8 * 24 * time.Hour, 4}, {91 * 24 * time.Hour, 3}} {
			w.pass(want.after)
			all, err := w.at("m").Checkpoints(w.ctx)
			w.ok(err)
			if len(all) > want.most+1 || all[len(all)-1].ID != kept.ID {
				t.Errorf("%v later there are %d: %+v", want.after, len(all), all)
			}
		}
		if got := value(w.run("m", "list")); got != "0 1 2 7" {
			t.Errorf("at last there is %q", got)
		}
	})
}

func TestOnlyTheLatestCheckpointIsKeptIfAsked(t *testing.T) {
	inTimeWith(t, service.Settings{KeepAll: -1}, func(w *world) {
		w.used("m")
		for i := range 4 {
			w.run("m", fmt.Sprintf("print %d", i+1))
			w.pass(time.Minute)
		}
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) != 1 || all[0].LastSeq != 4 {
			t.Errorf("%+v", all)
		}
	})
}

// Where older checkpoints take more than they may, the oldest automatic ones of all machines go;
// what was kept by hand stays.
func TestCheckpointsKeepToTheirBudget(t *testing.T) {
	inTimeWith(t, service.Settings{CheckpointBudget: 3}, func(w *world) {
		var kept []machine.Checkpoint
		for _, name := range []string{"a", "b"} {
			w.used(name)
			c, err := w.at(name).Checkpoint(w.ctx, "by hand")
			w.ok(err)
			kept = append(kept, c)
		}
		for i := range 4 {
			for _, name := range []string{"a", "b"} {
				w.run(name, fmt.Sprintf("print %d", i+1))
				w.pass(time.Minute)
			}
		}
		w.pass(time.Hour)
		if used, _ := w.engine.Used(); used > 3 {
			t.Errorf("%d are kept beside the newest", used)
		}
		for i, name := range []string{"a", "b"} {
			all, err := w.at(name).Checkpoints(w.ctx)
			w.ok(err)
			if len(all) < 2 || all[0].LastSeq != 4 || all[len(all)-1].ID != kept[i].ID {
				t.Errorf("%s has %+v", name, all)
			}
		}
	})
}

// Where the room of what is forgotten cannot be given back, forgetting more of it helps nobody: the
// history stays, and people are told.
func TestHistoryIsNotForgottenForNothing(t *testing.T) {
	inTimeWith(t, service.Settings{CheckpointBudget: 2}, func(w *world) {
		w.engine.set(func() { w.engine.collectErr = errors.New("a list is damaged") })
		w.used("m")
		for i := range 6 {
			w.run("m", fmt.Sprintf("print %d", i+1))
			w.pass(time.Minute)
		}
		told := func() bool {
			st := w.Status(w.ctx)
			return slices.ContainsFunc(st.Warnings, func(s string) bool { return strings.Contains(s, "forevervm checkpoints repair") })
		}
		w.pass(2 * time.Hour)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if len(all) < 6 {
			t.Errorf("of seven checkpoints there are %d", len(all))
		}
		if !told() {
			t.Errorf("nobody is told: %q", w.Status(w.ctx).Warnings)
		}
		w.engine.set(func() { w.engine.collectErr = nil })
		w.pass(time.Hour)
		if used, _ := w.engine.Used(); used > 2 || told() {
			t.Errorf("once it can be given back, %d are kept beside the newest; told: %v", used, told())
		}
	})
}

// A checkpoint that was made on its own can be kept: it is then neither thinned out nor replaced.
func TestAnAutomaticCheckpointCanBeKept(t *testing.T) {
	inTime(t, func(w *world) {
		w.used("m")
		w.run("m", "print 1")
		w.pass(time.Minute)
		all, err := w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		first := all[len(all)-1]
		if first.Kind != machine.CheckpointAuto {
			t.Fatalf("%+v", all)
		}
		if _, err := w.at("m").KeepCheckpoint(w.ctx, first.ID, strings.Repeat("x", 1000)); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("an endless label: %v", err)
		}
		kept, err := w.at("m").KeepCheckpoint(w.ctx, first.ID, "the start")
		w.ok(err)
		if kept.Kind != machine.CheckpointManual || kept.Label != "the start" || kept.LastSeq != first.LastSeq {
			t.Errorf("%+v", kept)
		}
		w.run("m", "print 2")
		w.pass(100 * 24 * time.Hour)
		all, err = w.at("m").Checkpoints(w.ctx)
		w.ok(err)
		if got := all[len(all)-1]; got.ID != first.ID || got.Label != "the start" {
			t.Errorf("after a hundred days there are %+v", all)
		}
		_, err = w.at("m").Rewind(w.ctx, first.ID, "")
		w.ok(err)
	})
}
