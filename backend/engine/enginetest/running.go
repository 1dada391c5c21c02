package enginetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// ticking writes numbered lines at a steady pace and then returns their sum.
const ticking = `
	import time
	total = 0
	for i in range(100):
		total += i
		print("tick", i, flush=True)
		time.sleep(0.03)
	total
`

// wantTicks is all that ticking writes.
func wantTicks() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintln(&b, "tick", i)
	}
	return b.String()
}

// heard puts together what several lives of a machine said of one instruction, as a domain does
// that stored what it acknowledged: by index, each once.
type heard struct {
	frames []machine.Frame
}

// add takes the frames that are new, and fails the test when one is missing or differs from what
// was said before.
func (h *heard) add(t *testing.T, frames []machine.Frame) {
	t.Helper()
	for _, f := range frames {
		switch {
		case f.Index < len(h.frames):
			if old := h.frames[f.Index]; old.Type != f.Type || string(old.Item.Text) != string(f.Item.Text) {
				t.Errorf("frame %d was %q and is %q now", f.Index, old.Item.Text, f.Item.Text)
			}
		case f.Index == len(h.frames):
			h.frames = append(h.frames, f)
		default:
			t.Fatalf("frame %d follows on %d: something is lost", f.Index, len(h.frames)-1)
		}
	}
}

func (h *heard) acks(seq int) []machine.Ack {
	if len(h.frames) == 0 {
		return nil
	}
	return []machine.Ack{{Seq: seq, Index: len(h.frames) - 1}}
}

func (h *heard) text() string {
	var b strings.Builder
	for _, f := range h.frames {
		b.Write(f.Item.Text)
	}
	return b.String()
}

// interruptedLife runs ticking through several lives, each ended by `end`, which returns the
// checkpoint to go on from.
func interruptedLife(t *testing.T, s Subject, lives int, mute bool, end func(*session) string) {
	t.Helper()
	start := s.start
	if mute {
		start = s.startMute
	}
	m := start(t, machine.StartSpec{ID: s.newID(t)})
	seq := m.execute(ticking)
	var all heard
	for life := range lives {
		next := fmt.Sprintf("tick %d\n", 20*(life+1))
		m.await(next, func() bool { return strings.Contains(m.out(seq, "stdout"), next) })
		checkpoint := end(m)
		m.awaitEnd()
		if !mute {
			all.add(t, m.frames(seq))
		}
		m = start(t, machine.StartSpec{ID: m.id, Checkpoint: checkpoint, Acked: all.acks(seq)})
		if r := m.box.Ready(); r.Running == nil || *r.Running != seq || r.LastSeq != seq {
			t.Fatalf("woke with %+v in the middle of instruction %d", r, seq)
		}
	}
	r := m.result(seq)
	all.add(t, m.frames(seq))
	if !r.OK || r.Value == nil || *r.Value != "4950" {
		t.Errorf("ended with %+v", r)
	}
	if got := all.text(); got != wantTicks() {
		t.Errorf("wrote %q", got)
	}
	m.expect("total", "4950")
}

var runningTests = []test{
	{"StoppedAndWoken", func(t *testing.T, s Subject) {
		interruptedLife(t, s, 2, false, func(m *session) string {
			info := m.stop()
			if info.RunningSeq == nil || *info.RunningSeq != 0 {
				t.Errorf("the checkpoint does not know what runs in it: %+v", info)
			}
			return info.ID
		})
	}},
	{"NothingAcknowledged", func(t *testing.T, s Subject) {
		interruptedLife(t, s, 2, true, func(m *session) string { return m.stop().ID })
	}},
	{"DaemonDies", func(t *testing.T, s Subject) {
		interruptedLife(t, s, 2, false, func(m *session) string {
			s.Disconnect(m.box)
			info, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, nil)
			if err != nil || info == nil {
				t.Fatalf("reclaimed %+v, %v", info, err)
			}
			return info.ID
		})
	}},
	{"CheckpointDisturbsNothing", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute(ticking)
		for i := range 4 {
			m.awaitOutput(seq, fmt.Sprintf("tick %d\n", i*10))
			m.checkpoint()
		}
		if r := m.result(seq); !r.OK {
			t.Errorf("ended with %+v", r)
		}
		if got := m.stdout(seq); got != wantTicks() {
			t.Errorf("wrote %q", got)
		}
	}},
	{"RollBack", func(t *testing.T, s Subject) {
		// The state falls back to a checkpoint in the middle: the instruction goes on from there.
		m := s.fresh(t)
		seq := m.execute(ticking)
		m.awaitOutput(seq, "tick 10\n")
		info := m.checkpoint()
		m.awaitOutput(seq, "tick 60\n")
		m.end()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID})
		if r := back.result(seq); !r.OK || *r.Value != "4950" {
			t.Errorf("ended with %+v", r)
		}
		// What was acknowledged before the checkpoint does not come again; what came after it does.
		var all heard
		all.add(t, m.frames(seq)[:back.frames(seq)[0].Index])
		all.add(t, back.frames(seq))
		if all.text() != wantTicks() {
			t.Errorf("wrote %q", all.text())
		}
	}},
	{"TorrentOfOutput", func(t *testing.T, s Subject) {
		// The checkpoint falls into frames that are half written.
		m := s.fresh(t)
		seq := m.execute(`
			import os, hashlib
			sum = hashlib.sha256()
			for i in range(400):
				block = (b"%08d " % i) * 12000
				sum.update(block)
				while block: block = block[os.write(1, block):]
			sum.hexdigest()
		`)
		var all heard
		for life := range 3 {
			m.await("more output", func() bool { return len(m.transcript(seq).frames) > 30*(life+1) || m.transcript(seq).result != nil })
			info := m.stop()
			all.add(t, m.frames(seq))
			m = s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: all.acks(seq)})
		}
		if last := all.frames[len(all.frames)-1]; last.Type != machine.FrameResult {
			m.result(seq)
			all.add(t, m.frames(seq))
		}
		r := all.frames[len(all.frames)-1].Result
		if !r.OK || r.Value == nil || *r.Value != fmt.Sprintf("'%s'", sha256Hex(all.text())) {
			t.Errorf("%d bytes came, and their digest is not %+v", len(all.text()), r)
		}
	}},
	{"QueueSurvives", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.execute("import time; time.sleep(4); order = ['slow']")
		second := m.execute("order.append('second'); order")
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		if r := back.box.Ready(); len(r.Queued) != 1 || r.Queued[0] != second {
			t.Errorf("woke with %+v", r)
		}
		if r := back.result(second); !r.OK || *r.Value != "['slow', 'second']" {
			t.Errorf("ended with %+v", r)
		}
	}},
	{"InterruptAfterWaking", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute("print('on', flush=True)\nwhile True: pass")
		m.awaitOutput(seq, "on")
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		if err := back.box.Interrupt(back.ctx(), seq); err != nil {
			t.Fatal(err)
		}
		if r := back.result(seq); r.ErrorName != "KeyboardInterrupt" {
			t.Errorf("ended with %+v", r)
		}
	}},
	{"BusyInC", func(t *testing.T, s Subject) {
		// Python cannot answer anything meanwhile: C code holds its lock.
		m := s.fresh(t)
		m.value("x = 1")
		seq := m.execute("print('on', flush=True); import re; re.match(r'(a?){27}a{27}$', 'a' * 26 + 'b'); 'done'")
		m.awaitOutput(seq, "on")
		start := time.Now()
		m.stats()
		info := m.stop()
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("saving a busy machine took %v", took)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		if err := back.box.Interrupt(back.ctx(), seq); err != nil {
			t.Error(err)
		}
		back.result(seq)
		back.expect("x", "1")
	}},
}
