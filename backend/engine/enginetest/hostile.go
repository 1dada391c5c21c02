package enginetest

import (
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// survives runs code that a machine must outlive: whatever becomes of the instruction, the next
// ones work as before.
func survives(name, code string) test {
	return outlives(name, code, func(machine.Cause) bool { return false })
}

// survivesUnlessTooLarge is survives for code that may also take so much memory, before it can be
// interrupted, that the machine is saved and stopped: then nothing is lost either.
func survivesUnlessTooLarge(name, code string) test {
	return outlives(name, code, func(c machine.Cause) bool { return c.Kind == machine.EndedMemory && c.OwnLimit && c.Checkpoint != nil })
}

func outlives(name, code string, mayEnd func(machine.Cause) bool) test {
	return test{name, func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		seq := m.execute(code)
		if cause, ended := m.interruptUntilDone(seq); ended {
			if !mayEnd(cause) {
				t.Fatalf("the sandbox ended: %+v", cause)
			}
			return
		}
		m.expect("x", "'kept'")
		seq = m.execute("print('still heard')")
		m.result(seq)
		if got := m.stdout(seq); got != "still heard\n" {
			t.Errorf("afterwards print writes %q", got)
		}
		m.stop()
	}}
}

// interruptUntilDone gives an instruction two seconds and then interrupts it, harder and harder. It
// says whether the sandbox ended meanwhile, and why.
func (s *session) interruptUntilDone(seq int) (machine.Cause, bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for wait := 2 * time.Second; ; wait = 500 * time.Millisecond {
		timeout := time.After(wait)
		for waiting := true; waiting; {
			over, changed := s.over(seq)
			if over {
				return machine.Cause{}, false
			}
			select {
			case <-changed:
			case <-s.done:
				<-s.box.Ended()
				return s.box.Cause(), true
			case <-timeout:
				waiting = false
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the instruction cannot be interrupted")
		}
		if err := s.box.Interrupt(s.ctx(), seq); err != nil {
			s.t.Fatalf("interrupt: %v", err)
		}
	}
}

// dies runs code that ends Python: the cause says so, the daemon does not hang, and the last
// checkpoint works.
func dies(name, code string, words ...string) test {
	return test{name, func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		info := m.checkpoint()
		m.execute("print('last words', flush=True)\n" + dedent(code))
		cause := m.awaitEnd()
		if cause.Kind != machine.EndedExited && cause.Kind != machine.EndedBroken || cause.Detail == "" {
			t.Errorf("the cause is %+v", cause)
		}
		for _, word := range words {
			if !strings.Contains(cause.Detail, word) {
				t.Errorf("%q does not say %q", cause.Detail, word)
			}
		}
		if got := m.stdout(1); got != "last words\n" {
			t.Errorf("before its end it was heard to say %q", got)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}}
}

// holds runs code that may end Python or not: either way the engine knows, and the machine can be
// used again.
func holds(name, code string) test {
	return test{name, func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		info := m.checkpoint()
		ended := func(seq int) bool {
			deadline := time.After(10 * time.Second)
			for wait := time.After(5 * time.Second); ; {
				over, changed := m.over(seq)
				if over {
					return false
				}
				select {
				case <-changed:
				case <-m.box.Ended():
					return true
				case <-wait:
					_ = m.box.Interrupt(m.ctx(), seq)
					wait = time.After(time.Second)
				case <-deadline:
					m.box.Kill() // as the domain does with what cannot be interrupted
				}
			}
		}
		if !ended(m.execute(code)) {
			// What the code left behind may end it yet.
			if seq, err := m.tryExecute("x"); err == nil && !ended(seq) {
				t.Log("the machine lives on")
				m.expect("x", "'kept'")
				return
			}
		}
		cause := m.awaitEnd()
		t.Logf("the machine ended: %+v", cause)
		if cause.Detail == "" {
			t.Error("it ended without a word")
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}}
}

// forging writes what is forged into every descriptor of every process that can be had.
const forging = `
			import json, os, struct
			def frame(header, payload=b""):
				h = json.dumps(header).encode()
				return struct.pack(">II", len(h), len(payload)) + h + payload
			def forge(forged):
				for pid in filter(str.isdigit, os.listdir("/proc")):
					for fd in os.listdir(f"/proc/{pid}/fd"):
						try:
							with open(f"/proc/{pid}/fd/{fd}", "wb", buffering=0, opener=lambda p, f: os.open(p, os.O_WRONLY | os.O_NONBLOCK)) as f: f.write(forged)
						except OSError: pass
				for fd in range(2000):
					try: os.set_blocking(fd, False); os.write(fd, forged)
					except OSError: pass
`

var hostileTests = []test{
	dies("Exit", "import os; os._exit(3)", "3"),
	dies("KillSelf", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
	dies("SegmentationFault", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
	holds("KillEverything", "import os, signal; os.kill(-1, signal.SIGKILL)"),
	holds("KillProcessOne", "import os, signal, time; os.kill(1, signal.SIGKILL); time.sleep(1)"),
	holds("StopProcessOne", "import os, signal; os.kill(1, signal.SIGSTOP)"),
	holds("KillProcessTwo", "import os, signal, time; os.kill(2, signal.SIGKILL); time.sleep(1)"),
	holds("StopProcessTwo", "import os, signal; os.kill(2, signal.SIGSTOP)"),
	holds("StopEverything", "import os, signal; os.kill(-1, signal.SIGSTOP)"),
	holds("CloseEveryDescriptor", "import os; os.closerange(0, 65536)"),
	survivesUnlessTooLarge("ForkBomb", `
		import os
		while True:
			try: os.fork()
			except OSError: pass
	`),
	holds("ForkBombOfShells", `import os; os.system("bomb() { bomb | bomb; }; bomb")`),
	holds("ForkBombInTheBackground", `import os; os.system("bomb() { bomb | bomb & }; bomb")`),
	survives("ThreadBomb", `
		import threading, time
		while True:
			threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
	`),
	survives("EveryDescriptor", `
		import os
		held = []
		try:
			while len(held) < 100_000: held.append(os.open("/dev/null", os.O_RDONLY))
		except OSError: pass
		assert 1000 < len(held) < 100_000
	`),
	survives("ManyFiles", `
		import os
		os.mkdir("many")
		for n in range(30_000): os.close(os.open(f"many/{n}", os.O_CREAT | os.O_WRONLY))
	`),
	survives("CloseStandardDescriptors", "import os; [os.close(n) for n in (0, 1, 2)]"),
	survives("EndlessOutput", "while True: print('x' * 1000)"),
	survives("SwallowingLoop", `
		n = 0
		while n < 3:
			try:
				while True: pass
			except BaseException: n += 1
	`),
	survives("OneLongLine", "import sys; b = 'x' * (64 << 20)\nfor _ in range(4): sys.stdout.write(b)"),
	{"GigabyteInOneLine", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.uncollected.Store(true)
		seq := m.execute("import sys\nb = 'x' * (64 << 20)\nfor _ in range(16): sys.stdout.write(b)\n'written'")
		if r := m.result(seq); !r.OK || *r.Value != "'written'" {
			t.Errorf("ended with %+v", r)
		}
		if got := m.written.Load(); got != 1<<30 {
			t.Errorf("%d bytes came", got)
		}
		m.expect("len(b) >> 20", "64")
	}},
	survives("HugeRepr", "class R:\n\tdef __repr__(self): return 'x' * (200 << 20)\nR()"),
	survives("DeepRecursion", "import sys; sys.setrecursionlimit(10**6)\ndef f(): f()\ntry: f()\nexcept RecursionError: pass"),
	survives("Overriding", "import sys, signal, json, builtins; builtins.repr = builtins.print = None; sys.stdout = None; json.dumps = None; signal.signal = None"),
	survives("NastyText", `print("\x00\udc80\ud800" .encode("utf-8", "surrogatepass")); import os; os.write(1, b"\xff\xfe\x00\x1b[2J")`),
	{"ForgedFrames", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		info := m.checkpoint()
		m.execute(forging + `
			forge(b"".join([
				frame({"type": "reply", "id": n, "ok": True, "result": {"size": 1, "eof": True}}, b"forged") for n in range(50)
			] + [
				frame({"type": "started", "seq": 7, "index": 0, "at": 1}),
				frame({"type": "result", "seq": 7, "index": 1, "status": "ok", "runtime_ms": 1, "mimes": []}),
				frame({"type": "ready", "pid": 1, "python": "9.9", "baseline_bytes": 0, "last_seq": 10**9, "running": None, "queued": []}),
				struct.pack(">II", 0xffffffff, 0xffffffff) + b"x" * 100,
			]))
		`)
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			select {
			case <-m.box.Ended():
			case <-time.After(5 * time.Second):
			}
		}()
		<-seen
		select {
		case <-m.box.Ended():
			if cause := m.awaitEnd(); cause.Kind == machine.EndedStopped || cause.Checkpoint != nil || cause.Detail == "" {
				t.Errorf("the cause is %+v", cause)
			}
		default:
			if _, err := m.box.Stats(m.ctx()); err != nil {
				t.Errorf("stats: %v", err)
			}
			m.end()
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}},
	// Anyone who says in the runner's name that Python is dead ends the machine at most: it does
	// not live on as one that cannot be saved.
	{"ForgedDeath", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		info := m.checkpoint()
		m.execute(forging + `
			forge(frame({"type": "died", "exit_code": 0}))
		`)
		if _, err := m.box.Checkpoint(m.ctx(), nil); err != nil {
			if cause := m.awaitEnd(); cause.Detail == "" {
				t.Errorf("the cause is %+v", cause)
			}
		} else {
			m.end()
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'kept'")
	}},
	{"DeleteEverything", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'kept'")
		info := m.checkpoint()
		m.run("import shutil, os\nfor d in os.listdir('/'):\n\tshutil.rmtree('/' + d, ignore_errors=True)")
		// What is in memory goes on, and is saved and woken; what needs the files fails with a
		// clear word.
		m.expect("x, sum(range(10))", "('kept', 45)")
		emptied := m.stop()
		m = s.start(t, machine.StartSpec{ID: m.id, Checkpoint: emptied.ID, Acked: m.acks()})
		m.expect("x, os.path.exists('/usr/bin/python3')", "('kept', False)")
		if r, _ := m.run("import statsmodels"); r.ErrorName != "ModuleNotFoundError" || !strings.Contains(r.Error, "statsmodels") {
			t.Errorf("importing what is gone ends with %+v", r)
		}
		if _, out := m.run("print('still heard')"); out != "still heard\n" {
			t.Errorf("afterwards print writes %q", out)
		}
		m.end()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x, __import__('os').path.exists('/usr/bin/python3')", "('kept', True)")
		other := s.fresh(t)
		other.expect("import os; os.path.exists('/usr/bin/python3')", "True")
	}},
	{"FillsTheSharedMemory", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.expect(`
			import errno
			try:
				with open("/dev/shm/full", "wb") as f:
					while True: f.write(b"x" * (1 << 20))
			except OSError as e: caught = errno.errorcode[e.errno]
			caught
		`, "'ENOSPC'")
		m.expect("import os; os.remove('/dev/shm/full'); 'alive'", "'alive'")
	}},
	{"FilesAreNotMemory", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		before := m.stats()
		for _, folder := range []string{"/root", "/tmp", "/var/tmp"} {
			m.value(`
				import os
				with open("` + folder + `/big", "wb") as f:
					for _ in range(100): f.write(os.urandom(1 << 20))
			`)
		}
		if grown := m.stats().MemoryBytes - before.MemoryBytes; grown > 60<<20 {
			t.Errorf("300 MiB of files take %d MiB of memory", grown>>20)
		}
	}},
}
