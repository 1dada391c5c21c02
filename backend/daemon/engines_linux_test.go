package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/machine"
)

// While an engine starts a machine, background work for the machines of all engines waits.
func TestAStartHoldsBackWorkForAllEngines(t *testing.T) {
	for _, starts := range []string{"native", "docker"} {
		t.Run(starts, func(t *testing.T) {
			dirs, err := home.Resolve(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			bin := t.TempDir()
			folder := local.Checkpoints(filepath.Join(dirs.Data, "machines", "m"))
			saved := savedState(t, folder)
			synctest.Test(t, func(t *testing.T) {
				d := &daemon{config: Config{Bin: bin}, dirs: dirs, log: slog.New(slog.DiscardHandler)}
				engines, checkpoints, err := d.engines()
				if err != nil {
					t.Fatal(err)
				}
				// Nothing is installed, so the start fails. Work waits a moment longer, for the
				// first instruction.
				if _, err := engines[starts].Start(t.Context(), machine.StartSpec{ID: "other", Image: "base"}); !errors.Is(err, machine.ErrUnavailable) {
					t.Fatal(err)
				}
				began := time.Now()
				if err := checkpoints.Seal(t.Context(), "m", saved); err != nil {
					t.Fatal(err)
				}
				if time.Since(began) == 0 {
					t.Error("the work did not wait")
				}
			})
		})
	}
}

// savedState makes a checkpoint of a machine that ran, and returns its id.
func savedState(t *testing.T, folder checkpoint.Folder) string {
	t.Helper()
	id, err := folder.NewID()
	if err != nil {
		t.Fatal(err)
	}
	pending, err := folder.Begin(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pending.Dir, "pages.img"), []byte("pages"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pending.Commit(checkpoint.Manifest{Life: "its own"}); err != nil {
		t.Fatal(err)
	}
	return id
}
