package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// sized is a place with a memory of its own, of 1 GiB, in which two machines of 80 MiB have room.
type sized struct{ *script }

func (sized) Name() string { return "far" }

func (p sized) Memory(context.Context) (free, total int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	total = 1 << 30
	free = total*15/100 + 200<<20
	for _, b := range p.all {
		if !b.over() {
			free -= 80 << 20
		}
	}
	return free, total, nil
}

// Machines at a place wait for that place's memory, and for no other.
func TestMachinesWaitForRoomAtTheirPlace(t *testing.T) {
	inTime(t, func(w *world) {
		far := sized{newScript()}
		defer far.endAll()
		w.ok(w.AddPlace(far))
		all := map[string]machine.ID{}
		for i := range 4 {
			name := fmt.Sprint("m", i)
			m, err := w.Create(w.ctx, machine.CreateOptions{Name: name, Engine: "far"})
			w.ok(err)
			all[name] = m.ID
			w.execWith(name, machine.ExecuteOptions{Code: "wait"})
		}
		here := w.busy("here", "somebody")
		w.pass(20 * time.Second)
		running := w.running()
		if len(running) != 3 {
			t.Fatalf("%v run", running)
		}
		waits := 0
		for name := range all {
			if strings.HasPrefix(w.get(name).Notice, "This machine waits for memory: at least 153 MB of the memory there (far) are left free.") {
				waits++
			}
		}
		if waits != 2 || w.get(here.Name).State != machine.Running {
			t.Errorf("%d wait", waits)
		}
		for name, id := range all { // those that are done go to the disk for those that wait
			if b := far.box(id); b != nil && w.get(name).State == machine.Running {
				b.poke("release")
			}
		}
		w.pass(20 * time.Second)
		for _, name := range w.running() {
			if slices.Contains(running, name) && name != here.Name {
				t.Errorf("%s still runs", name)
			}
		}
		if again := w.running(); len(again) != 3 {
			t.Errorf("then %v run", again)
		}
	})
}
