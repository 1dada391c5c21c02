package daemon

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/store"
)

// Records of yesterday run nothing again, delete nothing, and give no number twice.
func TestOldRecordsAreBroughtInLine(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC()
	instruction := func(id machine.ID, seq int, status machine.InstructionStatus) machine.InstructionRecord {
		return machine.InstructionRecord{
			Instruction: machine.Instruction{Machine: id, Seq: seq, Code: "1", Status: status, QueuedAt: now, StartedAt: &now},
			Progress:    machine.Progress{LastFrame: -1},
		}
	}
	err = s.WriteSync(t.Context(), func(w machine.Writer) error {
		for _, id := range []machine.ID{"behind", "ahead", "gone", "new", "far", "back"} {
			m := machine.MachineRecord{Machine: machine.Machine{ID: id, Name: string(id), CreatedAt: now}, Live: id != "far", Life: "old"}
			if id == "far" || id == "back" {
				m.Engine = "ssh:somewhere"
			}
			if id != "new" {
				m.Base, m.Fallback = "00000001-"+string(id), "00000001-"+string(id)
			}
			if err := w.PutMachine(m); err != nil {
				return err
			}
		}
		for _, in := range []machine.InstructionRecord{
			instruction("behind", 0, machine.StatusRunning), instruction("behind", 1, machine.StatusQueued), instruction("ahead", 0, machine.StatusOK),
			instruction("ahead", 1, machine.StatusOK), instruction("new", 0, machine.StatusOK),
		} {
			if err := w.AddInstruction(in); err != nil {
				return err
			}
		}
		for _, id := range []machine.ID{"ahead", "far"} {
			if err := w.PutCheckpoint(machine.CheckpointRecord{Checkpoint: machine.Checkpoint{ID: "00000001-" + string(id), Machine: id, Kind: machine.CheckpointAuto, CreatedAt: now}}); err != nil {
				return err
			}
		}
		for _, id := range []string{"00000000-ahead", "00000000-lost"} { // one of them cannot be read just now
			if err := w.PutCheckpoint(machine.CheckpointRecord{Checkpoint: machine.Checkpoint{ID: id, Machine: "ahead", Kind: machine.CheckpointManual, CreatedAt: now}}); err != nil {
				return err
			}
		}
		return errors.Join(w.AddGarbage(machine.Garbage{Engine: "native", Machine: "behind"}), w.AddGarbage(machine.Garbage{Engine: "native", Machine: "deleted"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	running := 7
	n, err := recoverMachines(t.Context(), s, map[machine.ID][]checkpoint.Manifest{
		"behind":  {{ID: "00000002-behind", CreatedAt: now, LastSeq: 5}, {ID: "00000003-behind", CreatedAt: now, LastSeq: 7, RunningSeq: &running}},
		"ahead":   {{ID: "00000001-ahead", CreatedAt: now, LastSeq: 0}},
		"found":   {{ID: "00000009-found", CreatedAt: now, LastSeq: 3, Whole: 3 << 30}},
		"broken":  nil,
		"back":    {{ID: "00000004-back", CreatedAt: now, LastSeq: 1}}, // it has moved here since
		"deleted": {{ID: "00000001-deleted", CreatedAt: now, LastSeq: -1}},
	}, func(_ machine.ID, name string) bool { return name == "00000000-ahead" }, "native")
	if err != nil || n != (recovered{added: 3, moved: 2, unusable: 2}) {
		t.Errorf("%+v, %v", n, err)
	}
	all, err := s.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		base string
		next int
	}{
		"behind": {"00000002-behind", 6}, "ahead": {"00000001-ahead", 2}, "gone": {"00000001-gone", 0}, "new": {"", 1},
		"far":             {"00000001-far", 0}, // its states are elsewhere
		"back":            {"00000004-back", 2},
		"recovered-found": {"00000009-found", 4}, "recovered-broken": {"", 0},
		"recovered-deleted": {"00000001-deleted", 0},
	}
	for _, m := range all {
		w, ok := want[m.Name]
		if !ok || m.Base != w.base || m.Fallback != w.base || m.NextSeq != w.next || m.Live != (m.Name == "far") {
			t.Errorf("%s: %+v", m.Name, m)
		}
		if away := strings.HasPrefix(m.Engine, "ssh:"); away != (m.Name == "far") {
			t.Errorf("%s is at %s", m.Name, m.Engine)
		}
		if added := strings.HasPrefix(m.Name, "recovered-"); (m.Network.Mode == machine.NetworkOff) != added || (m.DeletedAt != nil) != (m.ID == "deleted") {
			t.Errorf("%s has the network %q, and was deleted at %v", m.Name, m.Network.Mode, m.DeletedAt)
		}
		if m.ID == "found" && m.MemoryMB != 6<<10 {
			t.Errorf("%s has a limit of %d MB", m.Name, m.MemoryMB)
		}
		delete(want, m.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
	}
	for id, want := range map[machine.ID][]string{"behind": {"00000002-behind"}, "ahead": {"00000000-ahead", "00000001-ahead"}, "far": {"00000001-far"}} {
		var got []string
		all, err := s.Checkpoints(t.Context(), id)
		for _, c := range all {
			got = append(got, c.ID)
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s has the checkpoints %q, %v", id, got, err)
		}
	}
	if left, err := s.Unfinished(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("still to be run are %+v, %v", left, err)
	}
	if left, err := s.Garbage(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("to be deleted are %+v, %v", left, err)
	}
	if in, err := s.Instruction(t.Context(), "ahead", 1); err != nil || !in.RolledBack {
		t.Errorf("what is not in the saved state: %+v, %v", in, err)
	}
}

// bareDaemon has a data folder, and nothing runs.
func bareDaemon(t *testing.T) *daemon {
	t.Helper()
	folder := t.TempDir()
	return &daemon{dirs: home.Dirs{Config: folder, Data: folder, Usual: folder, Run: folder}, log: slog.New(slog.DiscardHandler)}
}

// putMachines puts machines on record, and closes the database.
func putMachines(t *testing.T, s *store.Store, ids ...machine.ID) {
	t.Helper()
	err := s.WriteSync(t.Context(), func(w machine.Writer) error {
		for _, id := range ids {
			m := machine.MachineRecord{Machine: machine.Machine{ID: id, Name: "name-" + string(id), Tags: map[string]string{"t": strings.Repeat("long", 200)}}}
			if err := w.PutMachine(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// putSaved makes a machine's folder with a checkpoint.
func putSaved(t *testing.T, d *daemon, id machine.ID) {
	t.Helper()
	p, err := local.Checkpoints(filepath.Join(d.dirs.Data, "machines", string(id))).Begin("00000001-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Commit(checkpoint.Manifest{LastSeq: 2, Life: "l"}); err != nil {
		t.Fatal(err)
	}
}

// names are those of the machines on record after a start.
func (d *daemon) names(t *testing.T) (names []string) {
	t.Helper()
	s, err := d.openRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

func openedRecords(t *testing.T, d *daemon) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), d.dirs.DatabaseFile())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A copy counts where the database is missing, though no machine has saved anything.
func TestMissingRecordsComeFromTheCopy(t *testing.T) {
	d := bareDaemon(t)
	putMachines(t, openedRecords(t, d), "abcdefgh")
	s := openedRecords(t, d)
	if err := errors.Join(s.BackUp(t.Context(), time.Now(), math.MaxInt64), s.Close(), os.Remove(d.dirs.DatabaseFile())); err != nil {
		t.Fatal(err)
	}
	if names := d.names(t); !slices.Equal(names, []string{"name-abcdefgh"}) || len(d.notes.all()) != 1 {
		t.Errorf("there are %q, people are told %q", names, d.notes.all())
	}
}

// A database that knows no machine is not believed where there is one that nobody deleted.
func TestEmptyRecordsBesideMachines(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		d := bareDaemon(t)
		putSaved(t, d, "abcdefgh")
		s := openedRecords(t, d)
		if deleted {
			if err := s.WriteSync(t.Context(), func(w machine.Writer) error {
				return w.AddGarbage(machine.Garbage{Engine: "native", Machine: "abcdefgh"})
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if names := d.names(t); (len(names) == 0) != deleted || (len(d.notes.all()) == 0) != deleted {
			t.Errorf("deleted %t: there are %q, people are told %q", deleted, names, d.notes.all())
		}
	}
}

// A damaged page is found at the start, not when the machines are read.
func TestDamagedPageOfRecords(t *testing.T) {
	d := bareDaemon(t)
	ids := []machine.ID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	putMachines(t, openedRecords(t, d), ids...)
	s := openedRecords(t, d)
	if err := errors.Join(s.BackUp(t.Context(), time.Now(), math.MaxInt64), s.Close()); err != nil {
		t.Fatal(err)
	}
	path := d.dirs.DatabaseFile()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	at := strings.Index(string(b), "longlong") / page * page
	for i := at; i < at+page; i++ {
		b[i] ^= 0x55
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if names := d.names(t); len(names) != len(ids) || len(d.notes.all()) != 1 {
		t.Errorf("there are %q, people are told %q", names, d.notes.all())
	}
}
