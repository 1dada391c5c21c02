package enginetest

import (
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

var limitTests = []test{
	{"MemoryError", func(t *testing.T, s Subject) {
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 512})
		m.value("x = list(range(1000))")
		r, _ := m.run("hog = []\nwhile True: hog.append(bytearray(10 << 20))")
		if r.OK || r.ErrorName != "MemoryError" {
			t.Fatalf("ended with %+v", r)
		}
		m.expect("got = len(hog); del hog; 30 < got < 52 or got", "True")
		m.expect("sum(x)", "499500")
		if r, _ := m.run("import numpy; numpy.ones(2 << 30, dtype='uint8')"); r.OK || !strings.Contains(r.ErrorName, "MemoryError") {
			t.Errorf("ended with %+v", r)
		}
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 512, Checkpoint: info.ID, Acked: m.acks()})
		if r, _ := back.run("b = bytearray(600 << 20)"); r.ErrorName != "MemoryError" {
			t.Errorf("after waking: %+v", r)
		}
		if err := back.box.SetMemoryLimit(back.ctx(), 1024); err != nil {
			t.Fatal(err)
		}
		back.expect("len(bytearray(600 << 20)) >> 20", "600")
		if err := back.box.SetMemoryLimit(back.ctx(), 512); err != nil {
			t.Fatal(err)
		}
		if r, _ := back.run("b = bytearray(600 << 20)"); r.ErrorName != "MemoryError" {
			t.Errorf("after lowering the limit: %+v", r)
		}
	}},
	{"AnotherLimitAfterWaking", func(t *testing.T, s Subject) {
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		if r, _ := m.run("b = bytearray(300 << 20)"); r.ErrorName != "MemoryError" {
			t.Errorf("ended with %+v", r)
		}
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 768, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("len(bytearray(300 << 20)) >> 20", "300")
	}},
	{"ManyProcesses", func(t *testing.T, s Subject) {
		// Each within its limit, together far beyond: the machine is saved and stopped before the computer swaps.
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		m.value("x = 'kept'")
		m.execute(`
			import os, time
			for _ in range(12):
				if os.fork() == 0:
					block = b"x" * (120 << 20)
					time.sleep(1000); os._exit(0)
			time.sleep(1000)
		`)
		cause := m.awaitEnd()
		if cause.Kind != machine.EndedMemory || cause.Detail == "" {
			t.Fatalf("the cause is %+v", cause)
		}
		if cause.Checkpoint == nil {
			t.Fatalf("it was not saved: %+v", cause)
		}
		if cause.OwnLimit == strings.Contains(cause.Detail, "computer") {
			t.Errorf("whose memory it was: %+v", cause)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 4096, Checkpoint: cause.Checkpoint.ID, Acked: m.acks()})
		if err := back.box.Interrupt(back.ctx(), 1); err != nil {
			t.Fatal(err)
		}
		back.result(1)
		back.expect("x", "'kept'")
	}},
	{"TooFastToBeSaved", func(t *testing.T, s Subject) {
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		m.value("x = 'kept'")
		info := m.checkpoint()
		m.execute(`
			import os, time
			for _ in range(60):
				if os.fork() == 0:
					block = b"x" * (150 << 20)
					time.sleep(1000); os._exit(0)
			time.sleep(1000)
		`)
		if cause := m.awaitEnd(); cause.Kind != machine.EndedMemory || cause.Detail == "" {
			t.Errorf("the cause is %+v", cause)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}}, // What the kernel keeps for a machine counts as its memory, too.
	{"MemoryOfTheKernel", func(t *testing.T, s Subject) {
		for what, code := range map[string]string{
			"memfd":                 "f = os.memfd_create('x'); take = lambda: os.write(f, block)",
			"memory that is shared": "held = []\ndef take():\n\tm = mmap.mmap(-1, len(block)); m.write(block); held.append(m); return len(block)",
			"pipes":                 "held = []\ndef take():\n\tr, w = os.pipe(); held.append((r, w)); fcntl.fcntl(w, 1031, 1 << 20); os.set_blocking(w, False); return os.write(w, block)",
			"sockets":               "held = []\ndef take():\n\ta, b = socket.socketpair(); held.append((a, b)); a.setsockopt(1, 7, 1 << 22); a.setblocking(False); return a.send(block)",
		} {
			t.Run(what, func(t *testing.T) {
				m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
				m.value("x = 'kept'")
				info := m.checkpoint()
				seq := m.execute("import fcntl, mmap, os, socket\nblock, taken = b'x' * (1 << 20), 0\n" + code + "\nwhile taken < 2 << 30: taken += take()")
				for {
					over, changed := m.over(seq)
					if over {
						if r := m.result(seq); r.OK || r.ErrorName != "MemoryError" && r.ErrorName != "OSError" && r.ErrorName != "BlockingIOError" {
							t.Errorf("it ends with %+v", r)
						}
						m.expect("x", "'kept'")
						return
					}
					select {
					case <-changed:
						continue
					case <-m.box.Ended():
					}
					break
				}
				if cause := m.awaitEnd(); cause.Kind != machine.EndedMemory || !cause.OwnLimit {
					t.Errorf("the cause is %+v", cause)
				}
				back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
				back.expect("x", "'kept'")
			})
		}
	}},
}
