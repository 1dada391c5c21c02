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
	{"AddressSpaceIsNotMemory", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(`
			import mmap, os, threading, numpy
			go = threading.Event()
			threads = [threading.Thread(target=go.wait, daemon=True) for _ in range(500)]
			for t in threads: t.start()
			fd = os.open("/root/data.mdb", os.O_RDWR | os.O_CREAT)
			os.truncate(fd, 10 << 30)
			database = mmap.mmap(fd, 10 << 30)
			database[5 << 30] = 7
			array = numpy.memmap("/root/array", mode="w+", dtype="uint8", shape=4 << 30)
			array[-1] = 9
			copied = numpy.memmap("/root/array", mode="c", dtype="uint8", shape=4 << 30)
			copied[0] = 8
			PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
			reserved = mmap.mmap(-1, 64 << 30, flags=PRIVATE, prot=0)
			unreserved = mmap.mmap(-1, 64 << 30, flags=PRIVATE | mmap.MAP_NORESERVE)
			unreserved[32 << 30] = 6
		`)
		const look = "sum(t.is_alive() for t in threads), database[5 << 30], int(array[-1]), int(copied[0]), int(array[0]), unreserved[32 << 30]"
		const want = "(500, 7, 9, 8, 0, 6)"
		m.expect(look, want)
		if used := m.stats().UsedBytes; used > 300<<20 {
			t.Errorf("%d MiB are said to be used", used>>20)
		}
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect(look, want)
		back.expect("go.set(); [t.join() for t in threads]; len(bytearray(1800 << 20)) >> 20", "1800")
		if r, _ := back.run("b = bytearray(2200 << 20)"); r.ErrorName != "MemoryError" {
			t.Errorf("2200 MiB: %+v", r)
		}
		id := s.newID(t)
		copied, err := s.Checkpoints.Copy(m.ctx(), m.id, info.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		fork := s.start(t, machine.StartSpec{ID: id, Checkpoint: copied.ID, Clone: true, Acked: m.acks()})
		fork.expect(look, want)
	}},
	{"UsedByAll", func(t *testing.T, s Subject) {
		// Threads' heaps and children are the machine's memory, too; so is what is still in the
		// checkpoint after waking.
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 512})
		m.value("x = 'kept'")
		m.expect(`
			import threading
			def fill():
				global ended
				hog = []
				try:
					while True: hog.append(bytes(2000))
				except MemoryError: ended = len(hog)
			thread = threading.Thread(target=fill)
			thread.start(); thread.join()
			100_000 < ended < 300_000
		`, "True")
		m.expect("for _ in range(5):\n\tb = None; b = b'x' * (400 << 20)\nlen(b) >> 20", "400")
		m.value(`
			del b
			import os, signal
			r, w = os.pipe()
			child = os.fork()
			if child == 0:
				block = b"x" * (350 << 20)
				os.write(w, b"x")
				while True: signal.pause()
			os.read(r, 1)
		`)
		more := func(m *session) {
			t.Helper()
			if r, _ := m.run("b = b'x' * (300 << 20)"); r.ErrorName != "MemoryError" {
				t.Errorf("300 MiB more: %+v", r)
			}
			m.expect("x", "'kept'")
		}
		more(m)
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 512, Checkpoint: info.ID, Acked: m.acks()})
		more(back)
		back.expect("os.kill(child, signal.SIGKILL); os.waitpid(child, 0); b = b'x' * (300 << 20); len(b) >> 20", "300")
	}},
	{"FilesOfAWokenMachineAreNotMemory", func(t *testing.T, s Subject) {
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		m.value(`
			import os
			with open("/root/big", "wb") as f:
				for _ in range(400): f.write(os.urandom(1 << 20))
		`)
		info := m.stop()
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 256, Checkpoint: info.ID, Acked: m.acks()})
		if used := back.stats().UsedBytes; used > 100<<20 {
			t.Errorf("%d MiB are said to be used", used>>20)
		}
		back.expect("len(bytearray(100 << 20)) >> 20", "100")
	}},
	{"ManyProcesses", func(t *testing.T, s Subject) {
		// Nothing is asked for that could be refused: the machine is saved and stopped before the
		// computer swaps.
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		m.value("x = 'kept'")
		m.execute(`
			import mmap, os, time
			block = mmap.mmap(-1, 120 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE)
			r, go = os.pipe()
			for _ in range(12):
				if os.fork() == 0:
					os.read(r, 1)
					block[::4096] = b"x" * (120 << 8)
					time.sleep(1000); os._exit(0)
			os.write(go, b"x" * 12)
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
			import mmap, os, time
			block = mmap.mmap(-1, 150 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE)
			r, go = os.pipe()
			for _ in range(60):
				if os.fork() == 0:
					os.read(r, 1)
					block[::4096] = b"x" * (150 << 8)
					time.sleep(1000); os._exit(0)
			os.write(go, b"x" * 60)
			time.sleep(1000)
		`)
		if cause := m.awaitEnd(); cause.Kind != machine.EndedMemory || cause.Detail == "" {
			t.Errorf("the cause is %+v", cause)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}}, // What the kernel keeps for a machine counts as its memory, too.
	// What no request of a program's own memory is asked for: the machine is saved, or falls back,
	// and others work on.
	bomb("InMemoryFiles", `
		import os
		fds = []
		while True:
			fds.append(os.memfd_create("bomb"))
			for _ in range(64): os.write(fds[-1], b"x" * (1 << 20))
	`),
	bomb("InPipes", `
		import fcntl, os
		pipes = []
		while True:
			pipes.append(os.pipe())
			fcntl.fcntl(pipes[-1][1], fcntl.F_SETPIPE_SZ, 1 << 20)
			os.set_blocking(pipes[-1][1], False)
			os.write(pipes[-1][1], b"x" * (1 << 20))
	`),
	bomb("InSockets", `
		import socket
		pairs = []
		while True:
			pairs.append(socket.socketpair())
			pairs[-1][0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
			pairs[-1][0].setblocking(False)
			try:
				while True: pairs[-1][0].send(b"x" * 65536)
			except BlockingIOError: pass
	`),
	bomb("InSharedMemory", `
		import mmap
		maps = []
		while True:
			maps.append(mmap.mmap(-1, 16 << 20))
			for at in range(0, 16 << 20, 4096): maps[-1][at] = 1
	`),
}

// bomb runs code that takes memory until it is refused more, or the machine is ended for it, while
// another machine works.
func bomb(name, code string) test {
	return test{name, func(t *testing.T, s Subject) {
		other := s.fresh(t)
		other.value("y = 1")
		m := s.start(t, machine.StartSpec{ID: s.newID(t), MemoryMB: 256})
		m.value("x = 'kept'")
		info := m.checkpoint()
		seq := m.execute(code)
		for ended := false; !ended; {
			over, changed := m.over(seq)
			if over {
				if r := m.result(seq); r.OK || !strings.Contains(r.Error, "memory") {
					t.Errorf("ended with %+v", r)
				}
				m.expect("x", "'kept'")
				other.expect("y += 1; y", "2")
				return
			}
			select {
			case <-changed:
			case <-m.box.Ended():
				ended = true
			}
		}
		other.expect("y += 1; y", "2")
		if cause := m.awaitEnd(); cause.Kind != machine.EndedMemory || !cause.OwnLimit || cause.Detail == "" {
			t.Errorf("the cause is %+v", cause)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, MemoryMB: 4096, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}}
}
