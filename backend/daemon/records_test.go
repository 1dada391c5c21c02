package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
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
		for _, id := range []machine.ID{"behind", "ahead", "gone", "new"} {
			m := machine.MachineRecord{Machine: machine.Machine{ID: id, Name: string(id), CreatedAt: now}, Live: true, Life: "old"}
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
		if err := w.PutCheckpoint(machine.CheckpointRecord{Checkpoint: machine.Checkpoint{ID: "00000001-ahead", Machine: "ahead", Kind: machine.CheckpointAuto, CreatedAt: now}}); err != nil {
			return err
		}
		return w.AddGarbage(machine.Garbage{Engine: "native", Machine: "behind"})
	})
	if err != nil {
		t.Fatal(err)
	}
	running := 7
	n, err := recoverMachines(t.Context(), s, map[machine.ID][]checkpoint.Manifest{
		"behind": {{ID: "00000002-behind", CreatedAt: now, LastSeq: 5}, {ID: "00000003-behind", CreatedAt: now, LastSeq: 7, RunningSeq: &running}},
		"ahead":  {{ID: "00000001-ahead", CreatedAt: now, LastSeq: 0}},
		"found":  {{ID: "00000009-found", CreatedAt: now, LastSeq: 3}},
		"broken": nil,
	}, "native")
	if err != nil || n != (recovered{added: 2, moved: 1, unusable: 2}) {
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
		"recovered-found": {"00000009-found", 4}, "recovered-broken": {"", 0},
	}
	for _, m := range all {
		w, ok := want[m.Name]
		if !ok || m.Base != w.base || m.Fallback != w.base || m.NextSeq != w.next || m.Live ||
			strings.HasPrefix(m.Name, "recovered-") != (m.Network.Mode == machine.NetworkOff) {
			t.Errorf("%s: %+v", m.Name, m)
		}
		delete(want, m.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
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
