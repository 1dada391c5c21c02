package machine_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/store"
)

// ailing is an engine that may not work.
type ailing struct {
	*script
	ill atomic.Bool
}

func (a *ailing) Check(context.Context) []machine.Problem {
	if a.ill.Load() {
		return []machine.Problem{{What: "It does not work.", Do: "Wait."}}
	}
	return nil
}

// New machines are made by the engine of this computer, by another while that does not work, and always by the one that is named.
func TestTheEngineOfNewMachines(t *testing.T) {
	records, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	own, other := &ailing{script: newScript()}, &ailing{script: newScript()}
	own.ill.Store(true)
	other.ill.Store(true)
	s, err := machine.New(t.Context(), machine.Config{
		Engines: map[string]machine.Engine{"own": own, "other": other}, DefaultEngine: "own", Checkpoints: own, Store: records, OutputDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, step := range []struct {
		own, other bool // whether it is ill
		want       string
	}{{true, true, "own"}, {true, false, "other"}, {false, false, "own"}, {false, true, "own"}} {
		own.ill.Store(step.own)
		other.ill.Store(step.other)
		if _, err := s.StartEngine(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Status(t.Context()).Engines {
			if e.Default != (e.Name == step.want) {
				t.Errorf("%+v: %s is the default: %v", step, e.Name, e.Default)
			}
		}
		for named, want := range map[string]string{"": step.want, "auto": step.want, "own": "own", "other": "other"} {
			if m, err := s.Create(t.Context(), machine.CreateOptions{Engine: named}); err != nil || m.Engine != want {
				t.Errorf("%+v: named %q it is %q, %v", step, named, m.Engine, err)
			}
		}
	}
}
