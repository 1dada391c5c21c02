//go:build linux && real

package native

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// startShared brings a machine into memory that is to see a folder.
func startShared(t *testing.T, e *Engine, checkpoint, folder string) *link.Sandbox {
	t.Helper()
	box, err := e.Start(t.Context(), machine.StartSpec{
		ID: "m", Name: "test", Image: "base", MemoryMB: 512, Life: "life", Checkpoint: checkpoint, Shared: &machine.SharedFolder{Path: folder},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		box.Kill()
		for range box.Frames() {
		}
		<-box.Ended()
	})
	return box.(*link.Sandbox)
}

const listed = "import os; os.listdir('/mnt/shared')"

// A state of a version that would not come back once a file has changed is shown no folder.
func TestAnEarlierVersionIsShownNoFolder(t *testing.T) {
	e := newEngine(t, t.TempDir())
	if err := e.MayShow(t.Context(), "m", "base", ""); err != nil {
		t.Error(err)
	}
	if p, err := e.store.Parts("base"); err != nil || !p.CheckPages() {
		t.Errorf("runsc does not say that it checks pages, %v", err)
	}
	program, err := os.ReadFile(e.store.Config().Runsc)
	if err != nil {
		t.Fatal(err)
	}
	own := []byte("forevervm.lost_files") // what its build says that it can do
	if !bytes.Contains(program, own) {
		t.Fatal("runsc does not say that it can lose files")
	}
	cfg, place := e.cfg, e.store.Config()
	place.Data, place.Runsc = t.TempDir(), filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(place.Runsc, bytes.ReplaceAll(program, own, bytes.ToUpper(own)), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Store = local.NewStore(place)
	earlier := New(cfg)
	t.Cleanup(func() { _ = earlier.Close() })
	var told *machine.Error
	if err := earlier.MayShow(t.Context(), "m", "base", ""); !errors.As(err, &told) || !errors.Is(err, machine.ErrConflict) {
		t.Error(err)
	}
	box := startShared(t, earlier, "", t.TempDir())
	if why := box.Ready().Unshared; why != machine.UnsharedOld {
		t.Errorf("%q", why)
	}
	if got := run(t, box, 0, listed); got != "[]" {
		t.Errorf("it sees %s", got)
	}
}

// Anyone who is not root on the computer cannot have what is mounted in a folder hidden, or shown.
func TestAFolderWithOtherDisksIsNotShown(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	within := filepath.Join(folder, "disk")
	if err := os.Mkdir(within, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("test", within, "tmpfs", 0, "size=4k"); errors.Is(err, unix.EPERM) {
		t.Skip("only root can mount something")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(within, 0); err != nil {
			t.Error(err)
		}
	})
	box := startShared(t, newEngine(t, t.TempDir()), "", folder)
	if why := box.Ready().Unshared; why != machine.UnsharedRefused {
		t.Errorf("%q", why)
	}
	if got := run(t, box, 0, listed); got != "[]" {
		t.Errorf("it sees %s", got)
	}
}
