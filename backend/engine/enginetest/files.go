package enginetest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
		entries, err := m.box.ListFiles(m.ctx(), "inbox/deep", 10)
		if err != nil || len(entries) != 1 || entries[0].Name != "data.bin" || entries[0].Dir || entries[0].Size != int64(len(want)) ||
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
		if err := m.box.WriteFile(m.ctx(), "/proc/version", 0, true, []byte("x")); err == nil {
			t.Error("/proc can be written")
		}
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

// put writes a file in chunks.
func (s *session) put(path string, data []byte) {
	s.t.Helper()
	for offset := 0; ; {
		n := min(len(data)-offset, 4<<20)
		if err := s.box.WriteFile(s.ctx(), path, int64(offset), offset == 0, data[offset:offset+n]); err != nil {
			s.t.Fatalf("write %s: %v", path, err)
		}
		if offset += n; offset >= len(data) {
			return
		}
	}
}

// get reads a file in chunks.
func (s *session) get(path string) []byte {
	s.t.Helper()
	var all []byte
	for {
		chunk, err := s.box.ReadFile(s.ctx(), path, int64(len(all)), 4<<20)
		if err != nil {
			s.t.Fatalf("read %s: %v", path, err)
		}
		all = append(all, chunk.Data...)
		if chunk.EOF || len(chunk.Data) == 0 {
			return all
		}
	}
}
