package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/machine"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_WRITER"); path != "" {
		writeUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}

func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openNew(t *testing.T) *Store { return openAt(t, filepath.Join(t.TempDir(), "history.db")) }

func write(t *testing.T, s *Store, change func(machine.Writer) error) {
	t.Helper()
	if err := s.Write(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func at(n int) time.Time { return time.Unix(1_800_000_000, int64(n)).UTC() }

func record(id machine.ID, name string) machine.MachineRecord {
	return machine.MachineRecord{Machine: machine.Machine{
		ID: id, Name: name, Engine: "native", Image: "base", MemoryMB: 2048, CreatedAt: at(1), LastActiveAt: at(1),
	}}
}

func instruction(id machine.ID, seq int, code string) machine.InstructionRecord {
	return machine.InstructionRecord{
		Instruction: machine.Instruction{Machine: id, Seq: seq, Code: code, Status: machine.StatusQueued, QueuedAt: at(seq)},
		Progress:    machine.Progress{LastFrame: -1},
	}
}

// nasty is text that a machine may well produce.
const nasty = "NUL \x00, not UTF-8 \xff\xfe, lone surrogate \xed\xa0\x80, 漢字 🙂, quote ' \" ; DROP TABLE machines;--\r\n"

func TestEverythingComesBackAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	s, err := Open(t.Context(), path)
	ok(t, err)
	when := at(7)
	m := record("0123456789abcdef", "brave-otter-42")
	m.Title, m.Tags, m.Notice, m.NextNotice = nasty[:4]+"title", map[string]string{"a": "b", "ü": "漢"}, "n", "nn"
	m.ExpiresAt, m.DeletedAt, m.Aliases = &when, &when, []string{"oldest", "older"}
	m.Parent = &machine.Parent{ID: "fedcba9876543210", Name: "p", LastSeq: -1}
	m.Live, m.Touched, m.Base, m.Fallback = true, true, "c2", "c1"
	m.Client = machine.Client{Name: "Claude Desktop", Version: "1.2"}
	m.DerivedTitle = "from its code"
	m.Branch, m.Undo, m.Owner = "a line", "c1", "person-1"
	m.Shared = &machine.SharedFolder{Path: "/ü/漢字 \"🙂\"", Writable: true}

	empty, value := "", nasty
	a := instruction(m.ID, 0, "x")
	a.Status, a.Value = machine.StatusOK, &empty
	b := instruction(m.ID, 1, nasty)
	b.Client, b.Timeout, b.Formats = machine.Client{Name: "Claude", Version: "1"}, time.Second, []string{"png", "svg"}
	b.Status, b.StartedAt, b.EndedAt, b.ResumedAt = machine.StatusError, &when, &when, &when
	b.Runtime, b.Ran, b.ErrorName, b.Value, b.Error, b.ErrorANSI = 3, 4, "ValueError", &value, nasty, "\x1b[31m"+nasty
	b.Data = []machine.Representation{{MIME: "text/html", Data: []byte(nasty)}, {MIME: "image/png", Data: []byte{0, 1, 2}}}
	b.Key = "what its sender calls it"
	b.RolledBack, b.Notice, b.Items, b.OutputBytes, b.OutputDropped = true, "notice", 5, 6, 7
	b.Progress = machine.Progress{LastFrame: 8, HeadEnd: 9, Overflow: 10, CarryOut: []byte{0xe6}, CarryErr: []byte{0xf0, 0x9f}}
	items := []machine.StoredItem{
		{Item: machine.Item{Index: 0, Kind: machine.ItemOutput, At: at(1), Stream: "stdout", Text: []byte(nasty)}, Frame: 1},
		{Item: machine.Item{Index: 1, Kind: machine.ItemDisplay, At: at(2), DisplayID: "d", Update: true,
			Representations: []machine.Representation{{MIME: "image/png", Data: []byte{9, 0, 9}}, {MIME: "text/plain", Data: []byte(nasty)}}}, Frame: 2},
		{Item: machine.Item{Index: 2, Kind: machine.ItemClear, At: at(3), Wait: true}, Frame: 3},
		{Item: machine.Item{Index: 4, Kind: machine.ItemOutput, At: at(4), Stream: "stderr", Text: []byte("late"), Background: true}, Frame: -1},
	}
	seq := 1
	c := machine.CheckpointRecord{
		Checkpoint: machine.Checkpoint{ID: "c2", Machine: m.ID, Kind: machine.CheckpointManual, Label: nasty[:3], CreatedAt: at(5), LastSeq: 1, RunningSeq: &seq, Size: 9, Image: "i", Runtime: "r", Pause: 11, Parent: "c1", Branch: nasty[:4]},
		Clone:      true, Mark: &machine.Mark{Seq: 1, Progress: b.Progress, Items: 2}, Lost: []machine.Span{{From: 0, To: 1}}, Named: true, LeftAt: at(6),
	}
	write(t, s, func(w machine.Writer) error {
		return errors.Join(w.PutMachine(m), w.AddInstruction(a), w.AddInstruction(b), w.PutInstruction(b), w.AddItems(m.ID, 1, items), w.PutCheckpoint(c))
	})
	ok(t, s.Close())
	s = openAt(t, path)

	machines, err := s.Machines(t.Context())
	ok(t, err)
	m.NextSeq, m.LastActiveAt = 2, when
	if len(machines) != 1 || !reflect.DeepEqual(machines[0], m) {
		t.Errorf("machine\n%+v, want\n%+v", machines, m)
	}
	for _, want := range []machine.InstructionRecord{a, b} {
		got, err := s.Instruction(t.Context(), m.ID, want.Seq)
		ok(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("instruction\n%+v, want\n%+v", got, want)
		}
	}
	if seq, err := s.Keyed(t.Context(), m.ID, b.Key); err != nil || seq != 1 {
		t.Errorf("its key leads to %d, %v", seq, err)
	}
	if _, err := s.Keyed(t.Context(), m.ID, "another"); !errors.Is(err, machine.ErrNotFound) {
		t.Errorf("a key that nobody used: %v", err)
	}
	page, err := s.Items(t.Context(), m.ID, 1, 0, 10)
	ok(t, err)
	for i, it := range items {
		if !reflect.DeepEqual(page.Items[i], it.Item) {
			t.Errorf("item\n%+v, want\n%+v", page.Items[i], it.Item)
		}
	}
	if page.Record.Items != 5 || page.Record.Overflow != 10 {
		t.Errorf("the items' instruction: %+v", page.Record)
	}
	if page, err = s.Items(t.Context(), m.ID, 0, 0, 10); err != nil || len(page.Items) != 0 || page.Record.Status != machine.StatusOK {
		t.Errorf("no items: %+v, %v", page, err)
	}
	got, err := s.Checkpoint(t.Context(), "c2")
	ok(t, err)
	if !reflect.DeepEqual(got, c) {
		t.Errorf("checkpoint\n%+v, want\n%+v", got, c)
	}
	if _, err := s.Instruction(t.Context(), m.ID, 2); !errors.Is(err, machine.ErrNotFound) {
		t.Errorf("a missing instruction: %v", err)
	}
}

// What came from a checkpoint that is gone comes from where that came from.
func TestWhatCameFromARemovedCheckpointHasItsParent(t *testing.T) {
	s := openNew(t)
	point := func(id, parent string) machine.CheckpointRecord {
		return machine.CheckpointRecord{Checkpoint: machine.Checkpoint{ID: id, Machine: "a", Kind: machine.CheckpointAuto, CreatedAt: at(1), Parent: parent}}
	}
	write(t, s, func(w machine.Writer) error {
		return errors.Join(w.PutMachine(record("a", "a")), w.PutCheckpoint(point("1", "")), w.PutCheckpoint(point("2", "1")),
			w.PutCheckpoint(point("3", "2")), w.PutCheckpoint(point("4", "2")), w.RemoveCheckpoint("2"))
	})
	for id, parent := range map[string]string{"3": "1", "4": "1", "1": ""} {
		if c, err := s.Checkpoint(t.Context(), id); err != nil || c.Parent != parent {
			t.Errorf("%s comes from %q, not %q: %v", id, c.Parent, parent, err)
		}
	}
	write(t, s, func(w machine.Writer) error { return w.RemoveCheckpoint("1") })
	if c, err := s.Checkpoint(t.Context(), "3"); err != nil || c.Parent != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWritesHappenWhollyOrNotAtAll(t *testing.T) {
	s := openNew(t)
	boom := errors.New("boom")
	err := s.Write(t.Context(), func(w machine.Writer) error {
		return errors.Join(w.PutMachine(record("a", "one")), boom)
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if all, err := s.Machines(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
}

func TestAKeyBelongsToOneInstructionOfItsMachine(t *testing.T) {
	s := openNew(t)
	keyed := func(id machine.ID, seq int) machine.InstructionRecord {
		in := instruction(id, seq, "x")
		in.Key = "same"
		return in
	}
	write(t, s, func(w machine.Writer) error {
		return errors.Join(
			w.PutMachine(record("a", "a")), w.PutMachine(record("b", "b")), w.PutMachine(record("c", "c")),
			w.AddInstruction(keyed("a", 0)), w.AddInstruction(keyed("b", 0)), w.AddInstruction(instruction("a", 1, "x")), w.AddInstruction(instruction("a", 2, "x")),
			w.CopyHistory("a", "c", 2, nil),
		)
	})
	if err := s.Write(t.Context(), func(w machine.Writer) error { return w.AddInstruction(keyed("a", 3)) }); err == nil {
		t.Error("two instructions of a machine have the same key")
	}
	if _, err := s.Keyed(t.Context(), "c", "same"); !errors.Is(err, machine.ErrNotFound) {
		t.Errorf("a copy of the machine knows the key: %v", err)
	}
}

func TestNamesBelongToOneMachine(t *testing.T) {
	s := openNew(t)
	one := record("a", "one")
	write(t, s, func(w machine.Writer) error { return w.PutMachine(one) })
	err := s.Write(t.Context(), func(w machine.Writer) error { return w.PutMachine(record("b", "one")) })
	if !errors.Is(err, machine.ErrNameTaken) {
		t.Fatal(err)
	}
	one.Name, one.Aliases = "two", []string{"one"}
	write(t, s, func(w machine.Writer) error { return w.PutMachine(one) })
	err = s.Write(t.Context(), func(w machine.Writer) error { return w.PutMachine(record("b", "one")) })
	if !errors.Is(err, machine.ErrNameTaken) {
		t.Fatal(err)
	}
	write(t, s, func(w machine.Writer) error { return w.RemoveMachine("a") })
	write(t, s, func(w machine.Writer) error { return w.PutMachine(record("b", "one")) })
}

func TestPagesOfInstructions(t *testing.T) {
	s := openNew(t)
	write(t, s, func(w machine.Writer) error {
		err := w.PutMachine(record("a", "one"))
		for i := range 25 {
			err = errors.Join(err, w.AddInstruction(instruction("a", i, strconv.Itoa(i))))
		}
		return err
	})
	var got []int
	q := machine.InstructionQuery{Newest: true, Limit: 10}
	for {
		page, err := s.Instructions(t.Context(), "a", q)
		ok(t, err)
		for _, in := range page.Items {
			got = append(got, in.Seq)
		}
		if page.Next == "" {
			break
		}
		before, err := strconv.Atoi(page.Next)
		ok(t, err)
		q.Before = &before
		// Something new does not disturb the pages.
		write(t, s, func(w machine.Writer) error { return w.AddInstruction(instruction("a", 25+len(got), "new")) })
	}
	for i, seq := range got {
		if seq != 24-i {
			t.Fatalf("order: %v", got)
		}
	}
	if len(got) != 25 {
		t.Fatalf("%d of 25: %v", len(got), got)
	}
}

func TestPagesAreBoundedBySize(t *testing.T) {
	s := openNew(t)
	write(t, s, func(w machine.Writer) error {
		err := w.PutMachine(record("a", "one"))
		for i := range 4 {
			err = errors.Join(err, w.AddInstruction(instruction("a", i, strings.Repeat("x", 6<<20))))
		}
		return err
	})
	page, err := s.Instructions(t.Context(), "a", machine.InstructionQuery{Limit: 500})
	ok(t, err)
	if len(page.Items) != 2 || page.Next != "1" {
		t.Fatalf("%d instructions of 6 MiB each, next %q", len(page.Items), page.Next)
	}
}

// TestFullDiskIsToldAndChangesNothing uses SQLite's own limit of its size, which fails as a full
// disk does.
func TestFullDiskIsToldAndChangesNothing(t *testing.T) {
	s := openNew(t)
	write(t, s, func(w machine.Writer) error { return w.PutMachine(record("a", "one")) })
	var pages int
	ok(t, s.conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages))
	limit := func(n int) {
		_, err := s.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n))
		ok(t, err)
	}
	limit(pages)
	big := instruction("a", 0, strings.Repeat("x", 100_000))
	err := s.Write(t.Context(), func(w machine.Writer) error { return w.AddInstruction(big) })
	var sentence *machine.Error
	if !errors.Is(err, machine.ErrDiskFull) || !errors.As(err, &sentence) {
		t.Fatal(err)
	}
	if _, err := s.Instruction(t.Context(), "a", 0); !errors.Is(err, machine.ErrNotFound) {
		t.Fatalf("half of it was done: %v", err)
	}
	limit(1 << 20)
	write(t, s, func(w machine.Writer) error { return w.AddInstruction(big) })
}

func TestFilesThatCannotBeOpenedAreLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string
	}{
		"not a database": {func(t *testing.T, path string) {
			ok(t, os.WriteFile(path, []byte(strings.Repeat("this is no database ", 1000)), 0o600))
		}, "is damaged"},
		"damaged": {func(t *testing.T, path string) {
			s, err := Open(t.Context(), path)
			ok(t, err)
			ok(t, s.Close())
			b, err := os.ReadFile(path)
			ok(t, err)
			for i := 100; i < 4096; i++ {
				b[i] = 0xa5
			}
			ok(t, os.WriteFile(path, b, 0o600))
		}, "is damaged"},
		"newer": {func(t *testing.T, path string) {
			s, err := Open(t.Context(), path)
			ok(t, err)
			_, err = s.conn.ExecContext(t.Context(), "PRAGMA user_version = 1000")
			ok(t, err)
			ok(t, s.Close())
		}, "newer version of ForeverVM"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			c.prepare(t, path)
			before, err := os.ReadFile(path)
			ok(t, err)
			s, err := Open(t.Context(), path)
			if err == nil {
				ok(t, s.Close())
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// TestWhatWasAcknowledgedSurvivesKill kills a process that writes, in the middle of that.
func TestWhatWasAcknowledgedSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "STORE_TEST_WRITER="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	acked := -1
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		acked, err = strconv.Atoi(lines.Text())
		ok(t, err)
		if acked == 300 {
			ok(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait() // it was killed
	s := openAt(t, path)
	for seq := range acked + 1 {
		in, err := s.Instruction(t.Context(), "a", seq)
		if err != nil || in.Code != "code "+strconv.Itoa(seq) {
			t.Fatalf("instruction %d of %d acknowledged ones: %+v, %v", seq, acked+1, in, err)
		}
	}
}

func writeUntilKilled(path string) {
	s, err := Open(context.Background(), path)
	if err == nil {
		err = s.Write(context.Background(), func(w machine.Writer) error { return w.PutMachine(record("a", "one")) })
	}
	for seq := 0; err == nil; seq++ {
		err = s.Write(context.Background(), func(w machine.Writer) error {
			return w.AddInstruction(instruction("a", seq, "code "+strconv.Itoa(seq)))
		})
		if err == nil {
			_, err = fmt.Println(seq)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Scrubbing does not wait for a reader, which would hold up every writer.
func TestScrubWaitsForNoReader(t *testing.T) {
	s := openNew(t)
	write(t, s, func(w machine.Writer) error { return w.PutMachine(record("m", "m")) })
	reading, err := s.readers.BeginTx(t.Context(), nil)
	ok(t, err)
	var n int
	ok(t, reading.QueryRow("SELECT count(*) FROM machines").Scan(&n))
	write(t, s, func(w machine.Writer) error { return w.RemoveMachine("m") })
	start := time.Now()
	if err := s.Scrub(t.Context()); err == nil {
		t.Error("it says that nothing is left, which somebody still reads")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	ok(t, reading.Rollback())
	ok(t, s.Scrub(t.Context()))
}

// What Sync flushes is the log that is in use, whatever happened to it.
func TestSyncFlushesTheLogInUse(t *testing.T) {
	s := openNew(t)
	for range 3 {
		write(t, s, func(w machine.Writer) error { return w.PutMachine(record("a", "a")) })
		ok(t, s.Sync())
		ok(t, s.Scrub(t.Context()))
		held, err := s.wal.Stat()
		ok(t, err)
		used, err := os.Stat(s.path + "-wal")
		ok(t, err)
		if !os.SameFile(held, used) {
			t.Fatal("another file is flushed")
		}
	}
}
