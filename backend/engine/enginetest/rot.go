package enginetest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// rotTests change what lies on the disk. No machine ever gets another value than it had: it gets
// that, or an error.
var rotTests = []test{
	{"Memory", rotInMemory},
	{"MemoryWithBlocks", rotInMemoryWithBlocks},
	{"MemoryReadAhead", rotInMemoryReadAhead},
	{"UnreadMemory", rotInUnreadMemory},
	{"Files", rotInFiles},
	{"FilesWithBlocks", rotInFilesWithBlocks},
}

const (
	pattern = "SILENTROT!"
	// precious makes data most of which no wake reads before somebody uses it: what is used in a
	// machine's first second is read at once.
	precious = `
		import hashlib, time
		time.sleep(1.5)
		data = b'SILENTROT!' * 3_000_000
		digest = hashlib.sha256(data).hexdigest()
	`
	unharmed = "hashlib.sha256(data).hexdigest() == digest"
)

// files is the folder of a machine's checkpoint.
func (s Subject) files(id machine.ID, checkpoint string) string {
	return filepath.Join(s.Folder(id), "checkpoints", checkpoint)
}

// rot changes six bytes, far from each other, of those that hold the pattern in a file.
func rot(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Index(b, bytes.Repeat([]byte(pattern), 10_000)) // not the code that makes it
	if data < 0 {
		t.Fatal("the data is not there")
	}
	t.Logf("the data is at %d", data)
	for i := range 6 {
		at := data + 4_000_000 + i*3_500_000
		if _, err := f.WriteAt([]byte{b[at] ^ 4}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

// use starts a machine whose data is damaged, and uses the data. It says whether that gives what
// was saved; else the machine does not start, or ends.
func use(t *testing.T, s Subject, spec machine.StartSpec) bool {
	t.Helper()
	m, err := s.tryStart(t, spec)
	if errors.Is(err, machine.ErrCheckpointUnusable) {
		return false // it was to be read as the machine wakes
	}
	if err != nil {
		t.Fatal(err)
	}
	seq, err := m.tryExecute(unharmed)
	if err != nil {
		t.Logf("execute: %v", err)
	}
	for ended := false; !ended; {
		over, changed := m.over(seq)
		if over {
			if r := m.result(seq); !r.OK || *r.Value != "True" {
				t.Fatalf("it gives %+v", r)
			}
			m.end()
			return true
		}
		select {
		case <-changed:
		case <-m.done:
			ended = true
		}
	}
	if cause := m.awaitEnd(); cause.Kind != machine.EndedDamaged || cause.Checkpoint != nil {
		t.Errorf("the cause is %+v", cause)
	}
	return false
}

func rotInMemory(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 'earlier'")
	earlier := m.checkpoint()
	m.value(precious)
	info := m.stop()
	rot(t, filepath.Join(s.files(m.id, info.ID), "pages.img"))
	for range 2 { // without a copy there is nothing to be done about it
		if use(t, s, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}) {
			t.Error("it gives what was saved, which is not there any more")
		}
	}
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: earlier.ID, Acked: m.acks()})
	back.expect("x, 'data' in globals()", "('earlier', False)")
	back.stop()
}

func rotInMemoryWithBlocks(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value(precious)
	info := m.stop()
	if err := s.Checkpoints.Seal(m.ctx(), m.id, info.ID); err != nil {
		t.Fatal(err)
	}
	rot(t, filepath.Join(s.files(m.id, info.ID), "pages.img"))
	spec := machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}
	if use(t, s, spec) { // it notices before it reads what has changed
		return
	}
	if !use(t, s, spec) {
		t.Error("its blocks do not count")
	}
}

// rotInMemoryReadAhead damages what is read as the machine wakes. Its blocks count at once.
func rotInMemoryReadAhead(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value(precious)
	first := m.stop()
	m = s.start(t, machine.StartSpec{ID: m.id, Checkpoint: first.ID, Acked: m.acks()})
	m.expect(unharmed, "True")
	info := m.stop()
	rot(t, filepath.Join(s.files(m.id, info.ID), "pages.img"))
	// It may be let in before what is read ahead has been read.
	if use(t, s, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}) {
		t.Error("it gives what was saved, which is not there any more")
	}
	if err := s.Checkpoints.Seal(m.ctx(), m.id, first.ID); err != nil {
		t.Fatal(err)
	}
	rot(t, filepath.Join(s.files(m.id, first.ID), "pages.img"))
	if _, err := s.Checkpoints.Compact(m.ctx(), m.id, first.ID); err != nil {
		t.Errorf("its blocks are whole: %v", err)
	}
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: first.ID, Acked: m.acks()})
	back.expect(unharmed, "True")
	back.stop()
}

// rotInUnreadMemory saves a machine again that has not read what is damaged: it must not come into
// the next checkpoint as if it were whole.
func rotInUnreadMemory(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value(precious)
	info := m.stop()
	rot(t, filepath.Join(s.files(m.id, info.ID), "pages.img"))
	again, err := s.tryStart(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
	if errors.Is(err, machine.ErrCheckpointUnusable) {
		return // here it is read as the machine wakes
	}
	if err != nil {
		t.Fatal(err)
	}
	again.value("x = 1")
	if next, err := again.box.Stop(again.ctx()); err == nil {
		t.Errorf("it is saved as %+v", next)
		return
	}
	if cause := again.awaitEnd(); cause.Kind != machine.EndedDamaged {
		t.Errorf("the cause is %+v", cause)
	}
}

// spoilt are files of a checkpoint, and what happens to them.
func spoilt(t *testing.T, dir string, then func(what string)) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 5 {
		t.Fatalf("it has the files %v, %v", entries, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func([]byte) []byte{
			"begins with another bit": func(b []byte) []byte { b[0] ^= 1; return b },
			"has another bit":         func(b []byte) []byte { b[len(b)/3] ^= 1; return b },
			"ends too early":          func(b []byte) []byte { return b[:len(b)-4096%len(b)] },
			"is empty":                func(b []byte) []byte { return nil },
		} {
			if e.Name() == "pages.img" && what == "has another bit" {
				continue // another test's
			}
			if err := os.WriteFile(path, change(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			then(e.Name() + " " + what)
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func rotInFiles(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 'saved'")
	info := m.stop()
	spoilt(t, s.files(m.id, info.ID), func(what string) {
		back, err := s.tryStart(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		// A page that nobody has used may wait, but may not be saved.
		if what != "pages.img begins with another bit" {
			t.Errorf("%s, and it starts", what)
		}
		if _, err := back.box.Stop(back.ctx()); err == nil {
			t.Errorf("%s, and it is saved", what)
		}
		back.end()
	})
	back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
	back.expect("x", "'saved'")
	back.stop()
}

func rotInFilesWithBlocks(t *testing.T, s Subject) {
	m := s.fresh(t)
	m.value("x = 'saved'")
	info := m.stop()
	if err := s.Checkpoints.Seal(m.ctx(), m.id, info.ID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checkpoint.img", "pages_meta.img", "pages.sum", "pages.img", "manifest.json"} {
		path := filepath.Join(s.files(m.id, info.ID), name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		back.expect("x", "'saved'")
		back.end()
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
