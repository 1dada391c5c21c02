package service_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// gathered reads events for as long as they come at once.
func gathered(events <-chan machine.Event) (all []machine.Event, closed bool) {
	for {
		synctest.Wait()
		select {
		case ev, ok := <-events:
			if !ok {
				return all, true
			}
			all = append(all, ev)
		default:
			return all, false
		}
	}
}

// Somebody who does not read is let go of before much is kept for them; who reads misses nothing.
func TestSubscribersAreWeighed(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		stalled := w.Subscribe(ctx, "")
		reading := w.Subscribe(ctx, "")
		var items int
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ev := range reading {
				if ev.Type == machine.EventItem {
					items += len(ev.Item.Text)
				}
			}
		}()
		w.run("m", "blob 200") // 100 KiB each, fewer events than a subscriber may be behind
		if all, closed := gathered(stalled); !closed || len(all) > 10 {
			t.Errorf("the stalled one still got %d events, closed %v", len(all), closed)
		}
		cancel()
		<-done
		if items != 200*100<<10 {
			t.Errorf("the reader got %d bytes", items)
		}
	})
}

// Pictures are not in events, only how large they are; text is, up to a bound.
func TestEventsLeaveOutWhatTheWireDoesNotTell(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		events := w.Subscribe(ctx, "")
		in := w.run("m", "figure 300000")
		all, _ := gathered(events)
		seen := false
		for _, ev := range all {
			if ev.Type != machine.EventItem {
				continue
			}
			seen = true
			png, html, long := ev.Item.Representations[0], ev.Item.Representations[1], ev.Item.Representations[2]
			if png.Data != nil || png.Size() != 300000 || string(html.Data) != "<b>" || html.Size() != 3 || long.Data != nil || long.Size() != 300000 {
				t.Errorf("png %d of %d, html %q, long %d of %d", len(png.Data), png.Size(), html.Data, len(long.Data), long.Size())
			}
		}
		if !seen {
			t.Error("no item was told")
		}
		items, err := w.at("m").Items(w.ctx, in.Seq, 0, 10)
		w.ok(err)
		if !bytes.Equal(items[0].Representations[0].Data, bytes.Repeat([]byte{'p'}, 300000)) {
			t.Error("the picture itself is gone")
		}
	})
}

func TestExpiryIsOnTime(t *testing.T) {
	inTime(t, func(w *world) {
		at := time.Now().Add(7 * time.Second)
		_, err := w.Create(w.ctx, machine.CreateOptions{Name: "m", ExpiresAt: &at})
		w.ok(err)
		w.create("later")
		w.pass(6 * time.Second)
		if m := w.get("m"); m.State == machine.Deleted {
			t.Fatal("too early")
		}
		w.pass(1500 * time.Millisecond)
		w.inState("m", machine.Deleted)
		soon := time.Now().Add(3 * time.Second)
		expires := &soon
		_, err = w.at("later").Update(w.ctx, machine.Change{ExpiresAt: &expires})
		w.ok(err)
		w.pass(3500 * time.Millisecond)
		w.inState("later", machine.Deleted)
	})
}

// The first machine comes into memory before it is used, and those that are only new wait for their
// first instruction.
func TestNewMachinesStayOnTheDiskUntilTheyAreUsed(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("first")
		w.inState("first", machine.Idle)
		w.engine.set(func() { w.engine.startTakes = time.Second })
		for range 400 {
			_, err := w.Create(w.ctx, machine.CreateOptions{})
			w.ok(err)
		}
		w.create("last")
		w.pass(time.Minute)
		if st := w.Status(w.ctx); st.InMemory != 1 || st.Total != 402 {
			t.Fatalf("%+v", st)
		}
		w.effects("last", "")
	})
}

// Many machines that are new at once bring one of them into memory.
func TestOneOfManyNewMachinesComesIntoMemory(t *testing.T) {
	inTime(t, func(w *world) {
		w.engine.set(func() { w.engine.startTakes = time.Second })
		for range 20 {
			_, err := w.Create(w.ctx, machine.CreateOptions{})
			w.ok(err)
		}
		w.pass(time.Minute)
		if st := w.Status(w.ctx); st.InMemory != 1 {
			t.Fatalf("%+v", st)
		}
	})
}
