package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// computer is one whose memory is taken by other programs and by machines: 80 MiB each, of the 100
// that are kept for them.
type computer struct {
	w     *world
	total int64

	mu     sync.Mutex
	others int64 // bytes that other programs take
	least  int64 // that was ever free
}

// small opens the service on a computer of 10 GiB; 1.5 GiB are to stay free, with room for
// so many machines.
func (w *world) small(machines int) *computer {
	w.t.Helper()
	w.close()
	c := &computer{w: w, total: 10 << 30, least: 10 << 30}
	floor := c.total * 15 / 100
	c.others = c.total - floor - int64(machines)*100<<20
	w.freeMem, w.totalMem = c.free, c.total
	w.open()
	return c
}

func (c *computer) free() (int64, error) {
	c.w.engine.mu.Lock()
	n := 0
	for _, b := range c.w.engine.all {
		if !b.over() {
			n++
		}
	}
	c.w.engine.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	free := c.total - c.others - int64(n)*80<<20
	c.least = min(c.least, free)
	return free, nil
}

// held checks that the floor was never passed.
func (c *computer) held() {
	c.w.t.Helper()
	_, _ = c.free()
	if floor := c.total * 15 / 100; c.least < floor {
		c.w.t.Errorf("%d MB were free, fewer than %d", c.least>>20, floor>>20)
	}
}

// busy makes a machine of a client's in which an instruction is to run until it is released.
func (w *world) busy(name, client string) machine.Machine {
	w.t.Helper()
	by := machine.Client{Name: client}
	m, err := w.Create(w.ctx, machine.CreateOptions{Name: name, Client: by})
	w.ok(err)
	w.execWith(name, machine.ExecuteOptions{Code: "wait", Client: by})
	return m
}

func (w *world) running() (names []string) {
	w.t.Helper()
	synctest.Wait()
	page, err := w.List(w.ctx, machine.Filter{States: []machine.State{machine.Running}, Limit: -1})
	w.ok(err)
	for _, m := range page.Items {
		names = append(names, m.Name)
	}
	return names
}

func TestMachinesWaitForRoomInMemory(t *testing.T) {
	inTime(t, func(w *world) {
		c := w.small(3)
		w.engine.set(func() { w.engine.startTakes = time.Second })
		all := map[string]machine.ID{}
		for i := range 8 {
			name := fmt.Sprint("m", i)
			all[name] = w.busy(name, "hostile").ID
		}
		w.pass(20 * time.Second)
		running := w.running()
		if len(running) != 3 {
			t.Fatalf("%v run", running)
		}
		// Which of them came first is not said.
		var waiting []string
		for name := range all {
			if !slices.Contains(running, name) {
				waiting = append(waiting, name)
			}
		}
		deleted, cancelled := waiting[0], waiting[1]
		waits := w.inState(deleted, machine.Swapped)
		if !strings.HasPrefix(waits.Notice, "This machine waits for memory: at least 1536 MB of the computer's are left free") || waits.Queued != 1 || !waits.Waits {
			t.Fatalf("%+v", waits)
		}
		if st := w.Status(w.ctx); len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], "5 machines wait to come into it") {
			t.Errorf("warnings %q", st.Warnings)
		}
		// Who waits can be deleted, and what waits cancelled.
		w.ok(w.at(deleted).Delete(w.ctx))
		w.ok(w.at(cancelled).Cancel(w.ctx, 0))
		w.pass(2 * time.Second)
		if m := w.get(cancelled); m.Notice != "" {
			t.Errorf("what is not to start says %q", m.Notice)
		}
		// As machines get idle, those that wait take their places.
		for range 6 {
			for _, name := range w.running() {
				w.engine.box(all[name]).poke("release")
			}
			w.pass(10 * time.Second)
		}
		for name := range all {
			if name == deleted || name == cancelled {
				continue
			}
			if in := w.wait(name, 0); in.Status != machine.StatusOK {
				t.Errorf("%s: %+v", name, in)
			}
		}
		c.held()
	})
}

// Who asks for a machine and is told nothing meanwhile does not wait forever.
func TestAWakeForWhichThereIsNoRoomSaysSo(t *testing.T) {
	inTime(t, func(w *world) {
		w.small(1)
		w.busy("busy", "")
		w.create("m")
		begun := time.Now()
		err := w.at("m").Wake(w.ctx)
		if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "There is no room in memory for another machine: at least 1536 MB") {
			t.Errorf("%v", err)
		}
		if took := time.Since(begun); took < 20*time.Second || took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// Who asks for a machine that somebody else is bringing in waits for that, however short memory is.
func TestAWakeWaitsForOneUnderWay(t *testing.T) {
	inTime(t, func(w *world) {
		w.small(1)
		w.engine.set(func() { w.engine.startTakes = 3 * time.Second })
		w.create("m")
		first := make(chan error, 1)
		go func() { first <- w.at("m").Wake(w.ctx) }()
		w.pass(time.Second)
		if m := w.get("m"); m.State != machine.Waking {
			t.Fatalf("%+v", m)
		}
		begun := time.Now()
		w.ok(w.at("m").Wake(w.ctx))
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		w.ok(<-first)
		w.inState("m", machine.Idle)
	})
}

// What a machine took once and has freed since keeps nobody out.
func TestFreedMemoryIsRoomForOthers(t *testing.T) {
	inTime(t, func(w *world) {
		w.engine.set(func() { w.engine.size = 4 << 30 })
		w.saved("m")
		w.ok(w.at("m").Swap(w.ctx))
		w.small(41)
		w.run("m", "print 1") // is expected to take 4 GiB
		w.engine.set(func() { w.engine.size = 0 })
		w.begun("m", "wait")
		w.busy("other", "")
		w.pass(3 * time.Second)
		w.inState("other", machine.Swapped)
		w.pass(2 * time.Minute) // m has been saved
		w.inState("other", machine.Running)
	})
}

// Idle machines make room, but not one whose next instruction may be on its way.
func TestIdleMachinesMakeRoom(t *testing.T) {
	inTime(t, func(w *world) {
		c := w.small(2)
		w.used("old")
		w.pass(5 * time.Second)
		w.used("recent")
		w.create("next")
		w.effects("next", "")
		w.inState("old", machine.Swapped)
		w.inState("recent", machine.Idle)
		begun := time.Now()
		w.effects("old", "0")
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		w.inState("recent", machine.Swapped)
		c.held()
	})
}

// One machine comes in as long as a little is free: else a full computer could run nothing.
func TestOneMachineComesInOnAFullComputer(t *testing.T) {
	inTime(t, func(w *world) {
		c := w.small(0)
		c.mu.Lock()
		c.others += 500 << 20
		c.mu.Unlock()
		w.used("m")
		w.pass(time.Minute)
		w.busy("other", "")
		w.pass(time.Minute)
		w.inState("other", machine.Running)
		w.inState("m", machine.Swapped)
	})
}

// A program that uses many machines does not keep out the machine of another.
func TestEachClientGetsItsTurn(t *testing.T) {
	inTime(t, func(w *world) {
		c := w.small(4)
		all := map[string]machine.ID{}
		for i := range 30 {
			name := fmt.Sprint("m", i)
			all[name] = w.busy(name, "hostile").ID
		}
		w.pass(5 * time.Second)
		w.busy("mine", "other")
		w.pass(5 * time.Second)
		w.inState("mine", machine.Swapped)
		w.engine.box(all[w.running()[0]]).poke("release")
		w.pass(5 * time.Second)
		w.inState("mine", machine.Running)
		c.held()
	})
}

// Small machines that keep coming do not keep out a large one, nor does a large one that finds no
// room the small.
func TestALargeMachineGetsItsTurn(t *testing.T) {
	inTime(t, func(w *world) {
		c := w.small(4)
		large := w.create("large")
		w.engine.set(func() { w.engine.size = 220 << 20 })
		w.run("large", "x = 1")
		w.ok(w.at("large").Swap(w.ctx))
		w.engine.set(func() { w.engine.size = 0 })
		all := map[string]machine.ID{}
		begin := func() {
			name := fmt.Sprint("m", len(all))
			all[name] = w.busy(name, "other").ID
		}
		for range 4 {
			begin()
		}
		w.pass(5 * time.Second)
		w.execWith("large", machine.ExecuteOptions{Code: "wait"})
		// Each time that a small one is done, the next is there already.
		rounds := 0
		for ; w.get("large").State != machine.Running && rounds < 40; rounds++ {
			begin()
			for _, name := range w.running() {
				if name != "large" {
					w.engine.box(all[name]).poke("release")
					break
				}
			}
			w.pass(10 * time.Second)
		}
		w.inState("large", machine.Running)
		if waited := time.Duration(rounds) * 10 * time.Second; waited < time.Minute || waited > 3*time.Minute {
			t.Errorf("it waited %v", waited)
		}
		w.engine.box(large.ID).poke("release")
		c.held()
	})
}

func TestTheRoomToLeaveCanBeSet(t *testing.T) {
	for name, c := range map[string]struct {
		set  service.Settings
		runs bool
	}{
		"as it is":     {service.Settings{}, false},
		"a share":      {service.Settings{MinFreeShare: 5}, true},
		"an amount":    {service.Settings{MinFreeMemory: 700 << 20}, true},
		"a large one":  {service.Settings{MinFreeMemory: 9 << 30}, false},
		"all machines": {service.Settings{MinFreeShare: 5, MaxInMemory: 100 << 20}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inTimeWith(t, c.set, func(w *world) {
				w.small(1)
				w.busy("a", "")
				w.pass(20 * time.Second) // its memory has been looked at
				w.busy("b", "")
				w.pass(5 * time.Second)
				if runs := w.get("b").State == machine.Running; runs != c.runs {
					t.Errorf("the second one runs: %v", runs)
				}
			})
		})
	}
}
