package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/service"
)

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// small bounds make a hundred lines what a million are otherwise.
var small = output.Limits{Head: 300, Tail: 300, Displays: 1000, Items: 20, File: 4000}

func TestFollowDeliversEverythingOnceInOrder(t *testing.T) {
	limits := small
	limits.File = 1 << 20
	inTimeWith(t, service.Settings{Output: limits}, func(w *world) {
		w.create("m")
		in := w.exec("m", "flood 3000")
		var early strings.Builder
		last := -1
		done, err := w.at("m").Follow(w.ctx, in.Seq, 0, func(it machine.Item) error {
			if it.Index != last+1 {
				t.Fatalf("item %d after %d", it.Index, last)
			}
			last = it.Index
			early.Write(it.Text)
			return nil
		})
		w.ok(err)
		if early.String() != lines(0, 3000) || done.Status != machine.StatusOK || done.OutputDropped != 0 {
			t.Fatalf("followed %d bytes of %d: %+v", early.Len(), len(lines(0, 3000)), done)
		}
		// The same when it is over, from everywhere.
		for from := range done.Items {
			var late strings.Builder
			_, err := w.at("m").Follow(w.ctx, in.Seq, from, func(it machine.Item) error {
				late.Write(it.Text)
				return nil
			})
			w.ok(err)
			if !strings.HasSuffix(early.String(), late.String()) || from > 0 && late.Len() == 0 {
				t.Fatalf("from %d: %q", from, late.String())
			}
		}
		out, err := w.at("m").Output(w.ctx, in.Seq)
		w.ok(err)
		all, err := io.ReadAll(out)
		w.ok(err)
		if string(all) != early.String() || out.Size() != int64(len(all)) {
			t.Fatalf("output of %d bytes, size %d, want %d", len(all), out.Size(), early.Len())
		}
		w.ok(out.Close())
	})
}

func TestOutputKeepsHeadAndTailAndCountsWhatItDrops(t *testing.T) {
	inTimeWith(t, service.Settings{Output: small}, func(w *world) {
		w.create("m")
		in := w.run("m", "flood 3000")
		if in.OutputBytes != int64(len(lines(0, 3000))) || in.OutputDropped == 0 {
			t.Fatalf("%+v", in)
		}
		out, err := w.at("m").Output(w.ctx, in.Seq)
		w.ok(err)
		kept, err := io.ReadAll(out)
		w.ok(err)
		if int64(len(kept)) != in.OutputBytes-in.OutputDropped || out.Size() != int64(len(kept)) {
			t.Fatalf("kept %d, size %d, %d of %d dropped", len(kept), out.Size(), in.OutputDropped, in.OutputBytes)
		}
		if !bytes.HasPrefix(kept, []byte("line 0\nline 1\n")) || !bytes.HasSuffix(kept, []byte("line 2998\nline 2999\n")) {
			t.Fatalf("kept %q … %q", kept[:20], kept[len(kept)-20:])
		}
	})
}

func TestOutputGoesOnAfterARestart(t *testing.T) {
	limits := small
	limits.File = 1 << 20
	inTimeWith(t, service.Settings{Output: limits}, func(w *world) {
		m := w.create("m")
		in := w.exec("m", "slow 1000")
		for range 5 {
			w.pass(time.Duration(rand.IntN(100)) * time.Millisecond)
			w.die()
			w.engine.orphan(m.ID)
			w.open()
		}
		w.wait("m", in.Seq)
		out, err := w.at("m").Output(w.ctx, in.Seq)
		w.ok(err)
		all, err := io.ReadAll(out)
		w.ok(err)
		if string(all) != lines(0, 1000) {
			t.Fatalf("%d bytes of %d", len(all), len(lines(0, 1000)))
		}
	})
}

func TestCharactersAreNotCut(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		in := w.run("m", "bytes 漢字🙂é")
		items, err := w.at("m").Items(w.ctx, in.Seq, 0, 100)
		w.ok(err)
		var all []byte
		for _, it := range items {
			if !validOrBroken(it.Text) {
				t.Errorf("item %q is cut within a character", it.Text)
			}
			all = append(all, it.Text...)
		}
		if want := "漢字🙂é\xe6\xbc"; string(all) != want { // the unfinished last one comes as it is
			t.Fatalf("%q, want %q", all, want)
		}
	})
}

// The beginning of a character that was acknowledged is not lost with the daemon that waits for its
// rest.
func TestCharactersAreNotCutByADeath(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		in := w.exec("m", "bytes 漢字🙂é")
		for w.get("m").RunningSeq != nil {
			w.pass(40 * time.Millisecond)
			w.die()
			if b := w.engine.box(m.ID); !b.over() {
				w.engine.orphan(m.ID)
			}
			w.open()
			synctest.Wait()
		}
		out, err := w.at("m").Output(w.ctx, in.Seq)
		w.ok(err)
		all, err := io.ReadAll(out)
		w.ok(err)
		if want := "漢字🙂é\xe6\xbc"; string(all) != want {
			t.Fatalf("%q, want %q", all, want)
		}
	})
}

// validOrBroken accepts what is whole, and the beginning of a character that nothing ever finished.
func validOrBroken(b []byte) bool {
	return strings.ToValidUTF8(string(b), "") == string(b) || string(b) == "\xe6\xbc"
}

func TestBackgroundOutputBelongsToTheLastInstruction(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		in := w.run("m", "background")
		w.pass(time.Second)
		items, err := w.at("m").Items(w.ctx, in.Seq, 0, 10)
		w.ok(err)
		if len(items) != 1 || !items[0].Background || string(items[0].Text) != "from a thread\n" {
			t.Fatalf("%+v", items)
		}
		// Who follows it, or asks for it, after that finds it as well.
		followed := 0
		done, err := w.at("m").Follow(w.ctx, in.Seq, 0, func(machine.Item) error {
			followed++
			return nil
		})
		w.ok(err)
		if followed != 1 || done.Items != 1 {
			t.Fatalf("followed %d items of %d", followed, done.Items)
		}
	})
}

func TestEventsComeInOrderAndCanBeResumed(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		synctest.Wait()
		events := w.Subscribe(w.ctx, "")
		w.run("m", "print hello")
		all, _ := gathered(events)
		var kinds []string
		var ids []string
		for _, ev := range all {
			ids = append(ids, ev.ID)
			switch ev.Type {
			case machine.EventMachine:
				kinds = append(kinds, string(ev.Machine.State))
			case machine.EventInstruction:
				kinds = append(kinds, "instruction "+string(ev.Instruction.Status))
			case machine.EventItem:
				kinds = append(kinds, "item "+string(ev.Item.Text))
			}
		}
		if got := strings.Join(kinds, ", "); !strings.Contains(got, "running, instruction running") || !strings.Contains(got, "item hello, instruction ok, idle") {
			t.Fatalf("events: %s", got)
		}
		again := w.Subscribe(w.ctx, ids[0])
		for _, want := range ids[1:] {
			if ev := <-again; ev.ID != want {
				t.Fatalf("resumed at %s, want %s", ev.ID, want)
			}
		}
		for _, unknown := range []string{"other-1", ids[0] + "999", "nonsense"} {
			if ev := <-w.Subscribe(w.ctx, unknown); ev.Type != machine.EventReset {
				t.Fatalf("after %q: %+v", unknown, ev)
			}
		}
	})
}

func TestSlowSubscriberIsDropped(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		events := w.Subscribe(w.ctx, "")
		for range 400 {
			w.run("m", "print x")
		}
		n := 0
		for range events { // closed, after what fitted
			n++
		}
		if n == 0 {
			t.Fatal("nothing came")
		}
	})
}

// brimming is a store whose disk can be full.
type brimming struct {
	machine.Store
	full func() bool
}

var errFull = &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk is full."}

func (b brimming) Write(ctx context.Context, change func(machine.Writer) error) error {
	if b.full() {
		return errFull
	}
	return b.Store.Write(ctx, change)
}

func (b brimming) WriteSync(ctx context.Context, change func(machine.Writer) error) error {
	if b.full() {
		return errFull
	}
	return b.Store.WriteSync(ctx, change)
}

func TestFullDiskLosesNothing(t *testing.T) {
	inTime(t, func(w *world) {
		var full atomic.Bool
		w.close()
		w.wrap = func(s machine.Store) machine.Store { return brimming{s, full.Load} }
		w.open()
		m := w.create("m")
		in := w.begun("m", "wait")
		full.Store(true)
		w.engine.box(m.ID).poke("release")
		w.pass(10 * time.Second)
		if got, err := w.at("m").Instruction(w.ctx, in.Seq); err != nil || got.Status != machine.StatusRunning {
			t.Fatalf("its end is told before it is stored: %+v %v", got, err)
		}
		if _, _, err := w.at("m").Execute(w.ctx, machine.ExecuteOptions{Code: "list"}); !errors.Is(err, machine.ErrDiskFull) {
			t.Fatalf("execute: %v", err)
		}
		if st := w.Status(w.ctx); len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], "disk is full") {
			t.Fatalf("warnings %q", st.Warnings)
		}
		full.Store(false)
		w.pass(2 * time.Second)
		if got := w.wait("m", in.Seq); got.Status != machine.StatusOK {
			t.Fatalf("%+v", got)
		}
		w.effects("m", "0")
		w.pass(2 * time.Minute)
		if st := w.Status(w.ctx); len(st.Warnings) != 0 {
			t.Fatalf("warnings %q", st.Warnings)
		}
	})
}

// startless is a store that does not take the record of an instruction that begins.
type startless struct {
	machine.Store
	refuses func() bool
}

type startlessWriter struct{ machine.Writer }

func (w startlessWriter) PutInstruction(in machine.InstructionRecord) error {
	if in.Status == machine.StatusRunning {
		return errFull
	}
	return w.Writer.PutInstruction(in)
}

func (s startless) WriteSync(ctx context.Context, change func(machine.Writer) error) error {
	return s.Store.WriteSync(ctx, func(w machine.Writer) error {
		if s.refuses() {
			w = startlessWriter{w}
		}
		return change(w)
	})
}

// What waited could not begin, and was canceled. The machine is saved and leaves memory as any
// other.
func TestAMachineRestsAfterABeginningThatFailed(t *testing.T) {
	inTime(t, func(w *world) {
		var refuses atomic.Bool
		w.close()
		w.wrap = func(s machine.Store) machine.Store { return startless{s, refuses.Load} }
		w.open()
		m := w.create("m")
		first := w.begun("m", "wait")
		next := w.exec("m", "list")
		refuses.Store(true)
		w.engine.box(m.ID).poke("release")
		w.wait("m", first.Seq)
		w.ok(w.at("m").Cancel(w.ctx, next.Seq))
		w.pass(11 * time.Minute)
		w.inState("m", machine.Swapped)
		refuses.Store(false)
		w.effects("m", "0")
	})
}
