package service_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/store"
)

// BenchmarkRoundTrip is what domain and store add to an instruction: queued, run, stored, waited
// for.
func BenchmarkRoundTrip(b *testing.B) {
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(b.TempDir(), "history.db"))
	if err != nil {
		b.Fatal(err)
	}
	engine := newScript()
	s, err := service.New(ctx, service.Config{
		Engines: map[string]machine.Engine{"script": engine}, DefaultEngine: "script", Checkpoints: engine, Store: st, OutputDir: b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Create(ctx, machine.CreateOptions{Name: "m"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		in, _, err := at(b, s, "m").Execute(ctx, machine.ExecuteOptions{Code: "print 1"})
		if err == nil {
			_, err = at(b, s, "m").Wait(ctx, in.Seq)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		b.Fatal(err)
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}
