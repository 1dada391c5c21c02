package enginetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// past makes everything that must survive, and present checks it, returning what is wrong.
const past = `
	import json, os, random, socket, sqlite3, tempfile, threading, time
	import numpy as np, pandas as pd
	x = {"a": [1, 2, {"b": (3,)}]}
	def count():
		n = 0
		while True:
			n += 1
			yield n
	gen = count(); next(gen); next(gen)
	ticks, stop = [], threading.Event()
	def tick():
		while not stop.wait(0.02): ticks.append(time.monotonic())
	thread = threading.Thread(target=tick); thread.start()
	lock = threading.Lock(); lock.acquire()
	f = open("/root/open.txt", "w+"); f.write("first "); f.flush()
	os.makedirs("/root/data/deep", exist_ok=True)
	open("/root/data/deep/file.bin", "wb").write(os.urandom(100)); digest = open("/root/data/deep/file.bin", "rb").read()
	open("/tmp/scratch", "w").write("kept")
	os.symlink("/root/open.txt", "/root/link")
	deleted = tempfile.TemporaryFile(); deleted.write(b"no name"); deleted.flush()
	server = socket.create_server(("127.0.0.1", 0))
	client = socket.create_connection(server.getsockname()); peer, _ = server.accept()
	client.sendall(b"on its way ")
	left, right = socket.socketpair(); left.sendall(b"in the pair")
	r, w = os.pipe(); os.write(w, b"in the pipe")
	db = sqlite3.connect(":memory:"); db.execute("create table t(n)"); db.execute("insert into t values (7)")
	random.seed(1); random.random(); rng_next = random.Random(); rng_next.setstate(random.getstate()); rng_next = rng_next.random()
	frame = pd.DataFrame({"n": np.arange(1000)})
	os.chdir("/root/data"); os.environ["MINE"] = "set"
	ticks_then = len(ticks)
`

const present = `
	wrong = []
	def check(name, ok):
		if not ok: wrong.append(name)
	check("variables", x == {"a": [1, 2, {"b": (3,)}]})
	check("generator", next(gen) == 3)
	check("thread alive", thread.is_alive())
	deadline = time.monotonic() + 20
	n = len(ticks)
	while len(ticks) == n and time.monotonic() < deadline: time.sleep(0.01)
	check("thread runs", len(ticks) > n)
	check("lock", lock.locked())
	f.write("second"); f.flush(); f.seek(0)
	check("open file", f.read() == "first second")
	check("file", open("/root/data/deep/file.bin", "rb").read() == digest)
	check("tmp", open("/tmp/scratch").read() == "kept")
	check("symlink", open("/root/link").read() == "first second")
	deleted.seek(0); check("deleted file", deleted.read() == b"no name")
	client.sendall(b"and arrived"); peer.settimeout(10)
	got = b""
	while len(got) < 22: got += peer.recv(100)
	check("loopback socket", got == b"on its way and arrived")
	another = socket.create_connection(server.getsockname(), timeout=10); check("listening socket", server.accept() is not None)
	check("socket pair", right.recv(100) == b"in the pair")
	check("pipe", os.read(r, 100) == b"in the pipe")
	check("sqlite", db.execute("select n from t").fetchone() == (7,))
	check("data frame", int(frame.n.sum()) == 499500)
	check("folder", os.getcwd() == "/root/data")
	check("environment", os.environ["MINE"] == "set")
	check("random state", (random.random() == rng_next) is SAME_RANDOM)
	stop.set(); thread.join(10); check("thread ends", not thread.is_alive())
	wrong
`

// draw prints random things of every kind, one a line. The random part of a TLS greeting begins at
// its byte 11.
const draw = `
	a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
	tls = ssl.create_default_context().wrap_bio(a, b, server_hostname="example.org")
	try: tls.do_handshake()
	except ssl.SSLWantReadError: pass
	print("random", random.random())
	print("numpy", np.random.rand())
	print("uuid4", uuid.uuid4())
	print("uuid1", uuid.uuid1())
	print("ssl", ssl.RAND_bytes(16).hex())
	print("tls", b.read()[11:43].hex())
	print("urandom", os.urandom(16).hex())
	print("secrets", secrets.token_hex(16))
	print("tempfile", tempfile.mktemp())
`

func survived(sameRandom bool) string {
	word := "False"
	if sameRandom {
		word = "True"
	}
	return strings.ReplaceAll(present, "SAME_RANDOM", word)
}

var checkpointTests = []test{
	{"SwapAndWake", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(past)
		info := m.stop()
		if info.LastSeq != 0 || info.RunningSeq != nil || info.Size < 1<<20 || info.ID == "" || info.Image == "" || info.Runtime == "" {
			t.Errorf("the checkpoint is described as %+v", info)
		}
		woken := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		if r := woken.box.Ready(); r.LastSeq != 0 || r.Running != nil {
			t.Errorf("woke with %+v", r)
		}
		woken.expect(survived(true), "[]")
		if len(woken.frames(0)) != 0 {
			t.Errorf("what was acknowledged came again: %d frames", len(woken.frames(0)))
		}
	}},
	{"GoesOn", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(past)
		info := m.checkpoint()
		if info.Pause <= 0 {
			t.Errorf("a checkpoint that took no time: %+v", info)
		}
		m.expect(survived(true), "[]")
		m.value("x = 'later'")
		m.end()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect(survived(true), "[]")
	}},
	{"Fork", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(past)
		info := m.checkpoint()
		to := s.newID(t)
		copied, err := s.Checkpoints.Copy(m.ctx(), m.id, info.ID, to)
		if err != nil {
			t.Fatal(err)
		}
		fork := s.start(t, machine.StartSpec{ID: to, Checkpoint: copied.ID, Clone: true, Acked: m.acks()})
		fork.expect(survived(false), "[]")
		fork.value("x = 'mine'; open('/root/open.txt', 'w').write('mine')")
		m.expect(survived(true), "[]")
		// The copy is the fork's own.
		m.end()
		if err := s.Engine.Purge(m.ctx(), m.id); err != nil {
			t.Fatal(err)
		}
		saved := fork.stop()
		again := s.start(t, machine.StartSpec{ID: to, Checkpoint: saved.ID, Acked: fork.acks()})
		again.expect("x", "'mine'")
	}},
	{"ForksShareNoRandomness", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("import os, random, secrets, ssl, tempfile, uuid; import numpy as np; random.random(); np.random.rand(); ssl.RAND_bytes(8); uuid.uuid1()")
		info := m.checkpoint()
		seen := map[string]bool{}
		for range 3 {
			to := s.newID(t)
			copied, err := s.Checkpoints.Copy(m.ctx(), m.id, info.ID, to)
			if err != nil {
				t.Fatal(err)
			}
			fork := s.start(t, machine.StartSpec{ID: to, Checkpoint: copied.ID, Clone: true, Acked: m.acks()})
			_, out := fork.run(draw)
			fork.end()
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != 9 {
				t.Fatalf("drew %q", out)
			}
			for _, line := range lines {
				if seen[line] {
					t.Errorf("two forks drew the same %s", line)
				}
				seen[line] = true
			}
		}
		// And so do two machines from the template.
		a, b := s.fresh(t), s.fresh(t)
		code := "import os, random, uuid, ssl; import numpy as np; (random.random(), float(np.random.rand()), str(uuid.uuid4()), ssl.RAND_bytes(16).hex())"
		if x, y := a.value(code), b.value(code); x == y {
			t.Errorf("two new machines drew the same %s", x)
		}
	}},
	{"Moved", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(past)
		info := m.stop()
		for range 2 { // as it was written, and as blocks
			open, err := s.Checkpoints.Export(m.ctx(), m.id, info.ID)
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOARCH == "amd64" && len(open.State.Needs.Features) == 0 {
				t.Error("what it needs of the processor is not known")
			}
			if err := s.Engine.CheckCompatible(m.ctx(), "base", open.State.Needs); err != nil {
				t.Error(err)
			}
			to := s.newID(t)
			moved, err := s.Checkpoints.Import(m.ctx(), to, open.State, func(f machine.StateFile) (io.Reader, error) {
				content, err := open.Open(f.Name)
				if err == nil {
					t.Cleanup(func() { content.Close() })
				}
				return content, err
			})
			if err != nil {
				t.Fatal(err)
			}
			open.Close()
			other := s.start(t, machine.StartSpec{ID: to, Checkpoint: moved.ID, Clone: true, Acked: m.acks()})
			other.expect(survived(false), "[]")
			other.end()
			if _, err := s.Checkpoints.Compact(m.ctx(), m.id, info.ID); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"Unread", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(dedent(`
			import hashlib, numpy as np
			big = np.random.default_rng(1).integers(0, 256, 200 << 20, dtype=np.uint8)
			def digest(): return hashlib.blake2b(big).hexdigest()
			whole = digest()`))
		const large, little = 120 << 20, 40 << 20
		before := m.stats()
		one := m.stop()
		wake := func(checkpoint string) *session {
			return s.start(t, machine.StartSpec{ID: m.id, Checkpoint: checkpoint, Acked: m.acks()})
		}
		// What it does not use takes nothing of the computer, but is the machine's all the same.
		woken := wake(one.ID)
		woken.value("x = 1")
		after := woken.stats()
		if less := before.MemoryBytes - after.MemoryBytes; less < large {
			t.Errorf("unused, 200 MiB take %d MiB less", less>>20)
		}
		if change := after.UsedBytes - before.UsedBytes; change < -little || change > little {
			t.Errorf("asleep, the machine's memory changed by %d MiB", change>>20)
		}
		// What was not read is in the next checkpoints, and they are not written over what it is
		// still read from.
		two := woken.checkpoint()
		if _, err := s.Checkpoints.Compact(m.ctx(), m.id, one.ID); err != nil {
			t.Fatal(err)
		}
		woken.value("x = 2")
		three := woken.checkpoint()
		woken.expect("digest() == whole", "True")
		woken.end()
		for i, info := range []machine.CheckpointInfo{two, three} {
			woken = wake(info.ID)
			woken.expect("digest() == whole, x", fmt.Sprintf("(True, %d)", i+1))
			woken.end()
		}
		// Given up before it was read, it is the machine's no more.
		woken = wake(three.ID)
		woken.value("del big")
		for deadline := time.Now().Add(patience); ; {
			less := before.UsedBytes - woken.stats().UsedBytes
			if less >= large {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("without 200 MiB, the machine's memory is %d MiB less", less>>20)
			}
		}
	}},
	{"FewImageFilesAreSaved", func(t *testing.T, s Subject) {
		// gVisor keeps files of the image that nobody has open, and each checkpoint has them: with
		// 64, the kernel's state of a new machine is 570 KB; with 1,000 it is 800.
		m := s.fresh(t)
		m.value("x = 1")
		state, err := os.Stat(filepath.Join(s.files(m.id, m.checkpoint().ID), "checkpoint.img"))
		if err != nil {
			t.Fatal(err)
		}
		if state.Size() > 680_000 {
			t.Errorf("the kernel's state is %d bytes", state.Size())
		}
	}},
	{"Rewind", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 1; open('/root/f', 'w').write('one')")
		one := m.checkpoint()
		m.value("x = 2; open('/root/f', 'w').write('two')")
		two := m.checkpoint()
		if one.ID == two.ID || one.ID > two.ID {
			t.Errorf("checkpoints %s and %s", one.ID, two.ID)
		}
		m.end()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: one.ID, Acked: m.acks()})
		back.expect("x, open('/root/f').read()", "(1, 'one')")
		back.end()
		forth := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: two.ID, Acked: m.acks()})
		forth.expect("x, open('/root/f').read()", "(2, 'two')")
		three := forth.stop()
		if three.ID <= two.ID {
			t.Errorf("checkpoint %s after %s", three.ID, two.ID)
		}
	}},
	{"Again", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("n = 0")
		for i := range 4 {
			m.value("n += 1")
			info := m.stop()
			if info.LastSeq != i*2+1 {
				t.Errorf("round %d: the checkpoint says the last instruction is %d", i, info.LastSeq)
			}
			m = s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
			m.value("n")
		}
		m.expect("n", "4")
	}},
	{"Reclaim", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		if info, err := s.Engine.Reclaim(m.ctx(), s.newID(t), m.life, nil); err != nil || info != nil {
			t.Errorf("a machine that never was is reclaimed as %+v, %v", info, err)
		}
		m.value("x = 'recorded'")
		known := m.checkpoint()
		m.value("x = 'not recorded'")
		s.Disconnect(m.box)
		info, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, []string{known.ID})
		if err != nil || info == nil || info.ID <= known.ID || info.LastSeq != 1 {
			t.Fatalf("reclaimed %+v, %v", info, err)
		}
		if again, err := s.Engine.Reclaim(m.ctx(), m.id, m.life, []string{known.ID, info.ID}); err != nil || again != nil {
			t.Errorf("reclaimed twice: %+v, %v", again, err)
		}
		m.awaitEnd()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'not recorded'")
	}},
	{"ReclaimAfterRewind", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 'old'")
		old := m.checkpoint()
		m.value("x = 'kept for later'")
		later := m.checkpoint()
		m.end()
		// Back to the old one, and then daemon and supervisor die: the newer checkpoint is another
		// branch's, and stays.
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: old.ID, Acked: m.acks()})
		back.end()
		// They may die so early that the supervisor never heard of its life.
		if info, err := s.Engine.Reclaim(m.ctx(), m.id, "never begun", []string{old.ID}); err != nil || info != nil {
			t.Errorf("reclaimed %+v, %v", info, err)
		}
		if info, err := s.Engine.Reclaim(m.ctx(), m.id, back.life, []string{old.ID, later.ID}); err != nil || info != nil {
			t.Errorf("reclaimed %+v, %v", info, err)
		}
		back = s.start(t, machine.StartSpec{ID: m.id, Checkpoint: old.ID, Acked: m.acks()})
		back.value("x = 'branch'")
		s.Disconnect(back.box)
		info, err := s.Engine.Reclaim(m.ctx(), m.id, back.life, []string{old.ID, later.ID})
		if err != nil || info == nil || info.ID <= later.ID {
			t.Fatalf("reclaimed %+v, %v", info, err)
		}
		back.awaitEnd()
		for id, want := range map[string]string{old.ID: "'old'", later.ID: "'kept for later'", info.ID: "'branch'"} {
			one := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: id, Acked: back.acks()})
			one.expect("x", want)
			one.end()
		}
	}},
	{"Shrink", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value(past)
		one := m.checkpoint()
		m.value("x = 'later'")
		two := m.checkpoint()
		for _, awaited := range []bool{false, true} {
			if err := s.Checkpoints.Persist(m.ctx(), m.id, two.ID, awaited); err != nil {
				t.Fatal(err)
			}
		}
		var sizes [2]int64
		for i, info := range []machine.CheckpointInfo{one, two} {
			for range 2 { // what is shrunk already stays as it is
				size, err := s.Checkpoints.Compact(m.ctx(), m.id, info.ID)
				if err != nil || size <= 0 {
					t.Fatalf("shrunk to %d bytes, %v", size, err)
				}
				sizes[i] = size
			}
		}
		most := one.Size / 10
		if s.NoTemplates {
			most = one.Size / 2
		}
		if max(sizes[0], sizes[1]) > most {
			t.Errorf("checkpoints of %d bytes took %d and %d", one.Size, sizes[0], sizes[1])
		}
		m.end()
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: one.ID, Acked: m.acks()})
		back.expect(survived(true), "[]")
		three := back.stop()
		if three.Whole != three.Size || three.Whole < 1<<20 {
			t.Errorf("a whole checkpoint of %d bytes has %d", three.Size, three.Whole)
		}
		for range 2 {
			if err := s.Checkpoints.Seal(m.ctx(), m.id, three.ID); err != nil {
				t.Fatal(err)
			}
		}
		if three.ID <= two.ID {
			t.Errorf("checkpoint %s after %s", three.ID, two.ID)
		}
		to := s.newID(t)
		copied, err := s.Checkpoints.Copy(m.ctx(), m.id, two.ID, to)
		if err != nil {
			t.Fatal(err)
		}
		if copied.Whole != two.Whole {
			t.Errorf("whole, one has %d bytes, and its copy %d", two.Whole, copied.Whole)
		}
		// The fork has what it needs when all else is gone.
		if err := s.Engine.Purge(m.ctx(), m.id); err != nil {
			t.Fatal(err)
		}
		if err := s.Checkpoints.Collect(m.ctx()); err != nil {
			t.Fatal(err)
		}
		fork := s.start(t, machine.StartSpec{ID: to, Checkpoint: copied.ID, Clone: true, Acked: m.acks()})
		fork.expect("x", "'later'")
		if err := s.Checkpoints.Delete(m.ctx(), to, copied.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Checkpoints.Compact(m.ctx(), to, copied.ID); !errors.Is(err, machine.ErrCheckpointUnusable) {
			t.Errorf("shrinking a deleted checkpoint gives %v", err)
		}
	}},
	{"DeleteCheckpoint", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.value("x = 1")
		info := m.stop()
		for range 2 {
			if err := s.Checkpoints.Delete(m.ctx(), m.id, info.ID); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.tryStart(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID})
		if !errors.Is(err, machine.ErrCheckpointUnusable) {
			t.Errorf("a deleted checkpoint gives %v", err)
		}
		if _, err := s.Checkpoints.Copy(m.ctx(), m.id, info.ID, s.newID(t)); !errors.Is(err, machine.ErrCheckpointUnusable) {
			t.Errorf("copying a deleted checkpoint gives %v", err)
		}
	}},
}
