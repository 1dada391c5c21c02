package service_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
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

// New machines are made by the engine of this computer, by another while that does not work, and
// always by the one that is named.
func TestTheEngineOfNewMachines(t *testing.T) {
	records, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	own, other := &ailing{script: newScript()}, &ailing{script: newScript()}
	own.ill.Store(true)
	other.ill.Store(true)
	s, err := service.New(t.Context(), service.Config{
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

// What one engine has saved, another starts: all of them keep their machines in one place.
func TestAForkMayGoToAnotherEngine(t *testing.T) {
	records, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	engine := newScript()
	defer engine.endAll()
	s, err := service.New(t.Context(), service.Config{
		Engines: map[string]machine.Engine{"own": engine, "other": engine}, DefaultEngine: "own", Checkpoints: engine, Store: records, OutputDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	run := func(name, code string) string {
		t.Helper()
		in, _, err := at(t, s, name).Execute(t.Context(), machine.ExecuteOptions{Code: code})
		if err == nil {
			in, err = at(t, s, name).Wait(t.Context(), in.Seq)
		}
		if err != nil || in.Value == nil {
			t.Fatalf("%s: %+v, %v", code, in, err)
		}
		return *in.Value
	}
	if _, err := s.Create(t.Context(), machine.CreateOptions{Name: "here"}); err != nil {
		t.Fatal(err)
	}
	run("here", "print x")
	was := run("here", "list")
	there, err := at(t, s, "here").Fork(t.Context(), "", machine.CreateOptions{Name: "there", Engine: "other"})
	if err != nil || there.Engine != "other" {
		t.Fatalf("%+v, %v", there, err)
	}
	if got := run("there", "list"); !strings.HasPrefix(got, strings.TrimSuffix(was, "]")) {
		t.Errorf("it holds %s, and its parent %s", got, was)
	}
}
