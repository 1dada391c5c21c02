package service_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
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
		Engines: map[string]machine.Engine{"script": engine}, DefaultEngine: "script", Checkpoints: engine, Places: []machine.Place{place},
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
