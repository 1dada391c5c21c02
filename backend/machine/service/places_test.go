package service_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/store"
)

// silent is the way to a place that does not answer: it leads on until nobody waits any more.
type silent struct{ asked chan struct{} }

func (s silent) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A place that does not answer holds up nothing on this computer: not the start, not new machines,
// not deletion.
func TestAPlaceThatDoesNotAnswerHoldsUpNobody(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records, err := store.Open(ctx, filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	engine := newScript()
	way := silent{make(chan struct{}, 1)}
	place := remote.New(remote.Config{Name: "far", Owner: strings.Repeat("0", 32), Dialer: way})
	s, err := service.New(ctx, service.Config{
		Engines: map[string]machine.Engine{"script": engine}, DefaultEngine: "script", Checkpoints: engine, Places: []machine.Engine{place},
		Store: records, OutputDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(gone)
		if err := place.Close(); err != nil {
			t.Error(err)
		}
	}()
	<-way.asked // in the background
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Create(ctx, machine.CreateOptions{Name: "there", Engine: "far"})
	ok(err)
	_, err = s.Create(ctx, machine.CreateOptions{Name: "here"})
	ok(err)
	in, _, err := at(t, s, "here").Execute(ctx, machine.ExecuteOptions{Code: "1"})
	ok(err)
	_, err = at(t, s, "here").Wait(ctx, in.Seq)
	ok(err)
	ok(at(t, s, "here").Purge(ctx))
	for _, e := range s.Status(ctx).Engines {
		if e.Name == "far" && (len(e.Problems) == 0 || e.Default) {
			t.Errorf("the place is told as %+v", e)
		}
	}
	if err := s.RemovePlace(ctx, "nowhere"); !errors.Is(err, machine.ErrNotFound) {
		t.Errorf("a place that there is not: %v", err)
	}
	if err := s.RemovePlace(ctx, "far"); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("a place with a machine: %v", err)
	}
	ok(place.Close()) // nobody waits for its machine any more
	ok(at(t, s, "there").Purge(ctx))
	ok(s.RemovePlace(ctx, "far"))
	if _, err := s.Create(ctx, machine.CreateOptions{Engine: "far"}); !errors.Is(err, machine.ErrInvalid) {
		t.Errorf("a machine at a place that is gone: %v", err)
	}
}

// counted is the way to a place that cannot be reached, and counts who tries.
type counted struct{ dials atomic.Int32 }

func (c *counted) Dial(context.Context) (io.ReadWriteCloser, error) {
	c.dials.Add(1)
	return nil, errors.New("it leads nowhere")
}

// A place that only runs while it is needed can be the usual one, from the start on. It is not
// started to see how it is, nor to delete what nobody misses.
func TestAPlaceThatRestsIsLeftAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	records, err := store.Open(ctx, filepath.Join(t.TempDir(), "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	if err := records.Write(ctx, func(w machine.Writer) error {
		return w.AddGarbage(machine.Garbage{Engine: "near", Machine: "gone", Checkpoint: "old"})
	}); err != nil {
		t.Fatal(err)
	}
	engine, way := newScript(), new(counted)
	place := remote.New(remote.Config{Name: "near", Owner: strings.Repeat("0", 32), Dialer: way, Costly: true})
	s, err := service.New(ctx, service.Config{
		Engines: map[string]machine.Engine{"script": engine}, DefaultEngine: "near", Near: "near", Checkpoints: engine, Places: []machine.Engine{place},
		Store: records, OutputDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(s.Close(ctx), place.Close()); err != nil {
			t.Error(err)
		}
	}()
	if now := s.Status(ctx).Engines; now[0].Name != "near" || !now[0].Default || len(now[0].Problems) > 0 {
		t.Errorf("the engines are %+v", now)
	}
	if dials := way.dials.Load(); dials > 0 {
		t.Errorf("it was dialled %d times", dials)
	}
	m, err := s.Create(ctx, machine.CreateOptions{Name: "there"})
	if err != nil || m.Engine != "near" {
		t.Fatalf("a new machine is %+v, %v", m, err)
	}
	if _, err := s.StartEngine(ctx, "near"); err == nil || way.dials.Load() == 0 {
		t.Errorf("who asks for a start is told %v, after %d dials", err, way.dials.Load())
	}
	// What could not be started is told, and the next machine is made elsewhere.
	if m, err = s.Create(ctx, machine.CreateOptions{Name: "here"}); err != nil || m.Engine != "script" {
		t.Errorf("a machine is made at %q, %v", m.Engine, err)
	}
}

// told is a place that tells what it is busy with, at once when somebody listens.
type told struct{ *remote.Place }

func (told) Notify(listen func(machine.EngineNews)) {
	listen(machine.EngineNews{Busy: &machine.Preparation{What: "Preparing"}})
}

// A place that is added may tell of itself at once.
func TestAPlaceThatTellsAtOnce(t *testing.T) {
	inTime(t, func(w *world) {
		place := told{remote.New(remote.Config{Name: "far", Owner: strings.Repeat("0", 32), Dialer: new(counted)})}
		w.ok(w.AddPlace(place))
		w.pass(time.Second)
		for _, e := range w.Status(w.ctx).Engines {
			if e.Name == "far" && (e.Busy == nil || e.Busy.What != "Preparing") {
				t.Errorf("it is told as %+v", e)
			}
		}
		w.ok(w.RemovePlace(w.ctx, "far"))
		w.ok(place.Close())
	})
}
