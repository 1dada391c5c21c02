package enginetest

import (
	"errors"
	"testing"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// OlderIsNotTakenForNew is a test of an engine whose supervisors mean harm (package hostile). What
// replaces a checkpoint lets it be deleted: an older one that a supervisor calls its newest is not
// believed. folder is a machine's.
func OlderIsNotTakenForNew(t *testing.T, e machine.Engine, folder func(machine.ID) string) {
	id := NewID(t, e)
	first := StartNamed(t, e, id, CalmHeron, "")
	known, err := first.Stop(Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	m := StartNamed(t, e, id, "older", known.ID)
	if info, err := m.Checkpoint(Bounded(t), nil); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("a checkpoint: %+v, %v", info, err)
	}
	if info, err := m.Stop(Bounded(t)); !errors.Is(err, machine.ErrUnavailable) {
		t.Errorf("stopped with %+v, %v", info, err)
	}
	if cause := m.AwaitEnd(); cause.Checkpoint != nil || cause.Kind == machine.EndedStopped {
		t.Errorf("the cause is %+v", cause)
	}
	if _, err := local.Checkpoints(folder(id)).Load(known.ID); err != nil {
		t.Errorf("the older one: %v", err)
	}
}
