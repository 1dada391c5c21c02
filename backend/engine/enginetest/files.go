package enginetest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

var fileTests = []test{
	{"RoundTrip", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		want := make([]byte, 9<<20+17)
		_, _ = rand.Read(want)
		m.put("inbox/deep/data.bin", want)
		m.expect("import hashlib; hashlib.sha256(open('/root/inbox/deep/data.bin', 'rb').read()).hexdigest()", "'"+sha256Hex(string(want))+"'")
		if got := m.get("/root/inbox/deep/data.bin"); !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back, not the %d that were sent", len(got), len(want))
		}
		list, err := m.box.ListFiles(m.ctx(), "inbox/deep", 10)
		entries := list.Entries
		if err != nil || len(entries) != 1 || entries[0].Name != "data.bin" || entries[0].Kind != machine.FilePlain || entries[0].Size != int64(len(want)) ||
			time.Since(entries[0].Modified).Abs() > time.Hour {
			t.Errorf("listed as %+v, %v", entries, err)
		}
	}},
	{"WhileRunning", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		seq := m.execute("print('on', flush=True)\nwhile True: pass")
		m.awaitOutput(seq, "on")
		m.put("note.txt", []byte("hello"))
		if got := m.get("note.txt"); string(got) != "hello" {
			t.Errorf("read %q", got)
		}
	}},
	{"Errors", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		for _, path := range []string{"no/such/file", "/dev/zero", "/", ""} {
			if _, err := m.box.ReadFile(m.ctx(), path, 0, 100); err == nil {
				t.Errorf("%q can be read", path)
			} else if told := (*machine.Error)(nil); !errors.As(err, &told) {
				t.Errorf("%q: %v has no sentence", path, err)
			}
		}
		m.value("import os; os.mkfifo('/root/fifo')")
		if _, err := m.box.ReadFile(m.ctx(), "fifo", 0, 100); err == nil {
			t.Error("a pipe can be read")
		}
		if _, err := machine.Send(m.ctx(), m.box, machine.FilePiece{Path: "/proc/version"}, strings.NewReader("x")); err == nil {
			t.Error("/proc can be written")
		}
		for _, path := range []string{"", "/", "/root", "no/such/file"} {
			if err := m.box.RemoveFile(m.ctx(), path); err == nil {
				t.Errorf("%q can be deleted", path)
			}
		}
	}},
	{"OneDevice", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		const look = `
			import os, pathlib
			pathlib.Path("/root/new").touch()
			pathlib.Path("/etc/hosts").touch()
			if not os.path.exists("/root/link"): os.link("/root/new", "/root/link")
			files = [os.path.join(at, name) for top in ("/etc", "/root", "/usr/lib/python3.13") for at, _, names in os.walk(top) for name in names]
			same = {(s.st_dev, s.st_ino) for s in map(os.lstat, files)}
			(
				[pathlib.Path(p).is_mount() for p in ("/etc/passwd", "/etc/hosts", "/root/new", "/etc", "/proc", "/dev/shm")],
				len(files) - len(same), os.path.samefile("/root/new", "/root/link"),
				[e.path for top in ("/etc", "/root") for e in os.scandir(top) if not e.is_dir() and e.inode() != os.lstat(e.path).st_ino],
			)
		`
		const want = "([False, False, False, False, True, True], 1, True, [])"
		m.expect(look, want)
		info := m.stop()
		s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()}).expect(look, want)
	}},
	{"WholeOrNotAtAll", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.put("half/x", []byte("before"))
		const part = "0123456789abcdef0123456789abcdef"
		send := func(m *session, offset int64, data string, last bool) error {
			return m.box.WriteFile(m.ctx(), machine.FilePiece{Path: "half/x", Part: part, Offset: offset, Data: []byte(data), Last: last, Modified: time.Unix(1e9, 5)})
		}
		if err := send(m, 0, "01234", false); err != nil {
			t.Fatal(err)
		}
		seen := func(m *session, want string) {
			t.Helper()
			if got := string(m.get("half/x")); got != want {
				t.Errorf("half-way it reads %q", got)
			}
			if list, err := m.box.ListFiles(m.ctx(), "half", 10); err != nil || len(list.Entries) != 1 || list.Path != "/root/half" {
				t.Errorf("half-way it lists %+v, %v", list, err)
			}
		}
		seen(m, "before")
		early := m.checkpoint()
		if err := send(m, 5, "56789", false); err != nil {
			t.Fatal(err)
		}
		info := m.stop()
		// It goes on where it was, in the next stay in memory.
		back := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: info.ID, Acked: m.acks()})
		seen(back, "before")
		if err := send(back, 10, "!", true); err != nil {
			t.Fatal(err)
		}
		seen(back, "0123456789!")
		if found, err := back.box.StatFile(back.ctx(), "half/x"); err != nil || !found.Modified.Equal(time.Unix(1e9, 5)) || found.Size != 11 {
			t.Errorf("it is %+v, %v", found, err)
		}
		back.end()
		// In an earlier state there is a hole, and nobody takes what is behind it for the whole.
		past := s.start(t, machine.StartSpec{ID: m.id, Checkpoint: early.ID, Acked: m.acks()})
		if err := send(past, 10, "!", true); !errors.Is(err, machine.ErrInvalid) || !strings.Contains(err.Error(), "Send the file again") {
			t.Errorf("behind a hole: %v", err)
		}
		seen(past, "before")
	}},
	{"FoldersAndRoom", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		if err := m.box.MakeFolder(m.ctx(), "a/b"); err != nil {
			t.Fatal(err)
		}
		m.put("a/b/f", []byte("x"))
		m.value("import os; os.symlink('/usr', '/root/a/out'); os.symlink('b', '/root/a/in')")
		if found, err := m.box.StatFile(m.ctx(), "a/in"); err != nil || found.Kind != machine.FileFolder {
			t.Errorf("a link to a folder is %+v, %v", found, err)
		}
		if err := m.box.RemoveFile(m.ctx(), "a"); err != nil {
			t.Fatal(err)
		}
		m.expect("os.path.exists('/root/a'), os.path.exists('/usr/bin')", "(False, True)")
		before, err := m.box.Disk(m.ctx())
		if err != nil || before.Size < 4<<30 || before.Size > 6<<30 || before.Used > 1<<30 {
			t.Fatalf("the room is %+v, %v", before, err)
		}
		m.put("big", make([]byte, 20<<20))
		if after, err := m.box.Disk(m.ctx()); err != nil || after.Used-before.Used < 15<<20 || after.Used-before.Used > 40<<20 {
			t.Errorf("after 20 MiB the room is %+v, before %+v, %v", after, before, err)
		}
		// The rest of the room is taken without writing it, and then there is no more.
		m.expect(`
			import errno, os
			room = os.statvfs("/root")
			with open("/root/full", "wb") as f: os.posix_fallocate(f.fileno(), 0, room.f_bavail * room.f_frsize - (1 << 20))
			try:
				with open("/root/more", "wb") as f:
					for _ in range(8): f.write(b"x" * (1 << 20))
			except OSError as e: caught = errno.errorcode[e.errno], e.strerror
			os.path.exists("/root/more") and os.remove("/root/more")
			caught
		`, "('ENOSPC', 'No space left on device')")
		if _, err := machine.Send(m.ctx(), m.box, machine.FilePiece{Path: "sent"}, bytes.NewReader(make([]byte, 8<<20))); err == nil || !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("a file is sent to a full disk: %v", err)
		}
		m.expect("os.remove('/root/full'); open('/root/small', 'w').write('works')", "5")
	}},
	{"DelayNothing", func(t *testing.T, s Subject) {
		m := s.fresh(t)
		m.put("big.bin", make([]byte, 60<<20))
		var transfers sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			transfers.Go(func() {
				for offset := int64(0); ; offset = (offset + 4<<20) % (56 << 20) {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := m.box.ReadFile(m.ctx(), "big.bin", offset, 4<<20); err != nil {
						t.Errorf("read: %v", err)
						return
					}
				}
			})
		}
		var slowest time.Duration
		for range 40 {
			start := time.Now()
			m.expect("1+1", "2")
			slowest = max(slowest, time.Since(start))
		}
		close(stop)
		transfers.Wait()
		if slowest > 3*time.Second {
			t.Errorf("beside a large transfer an instruction took %v", slowest)
		}
	}},
}

// put writes a file.
func (s *session) put(path string, data []byte) {
	s.t.Helper()
	if _, err := machine.Send(s.ctx(), s.box, machine.FilePiece{Path: path}, bytes.NewReader(data)); err != nil {
		s.t.Fatalf("write %s: %v", path, err)
	}
}

// get reads a file.
func (s *session) get(path string) []byte {
	s.t.Helper()
	content, err := machine.Open(s.ctx(), s.box, path)
	if err != nil {
		s.t.Fatalf("read %s: %v", path, err)
	}
	all, err := io.ReadAll(content)
	if err != nil {
		s.t.Fatalf("read %s: %v", path, err)
	}
	return all
}
