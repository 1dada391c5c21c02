//go:build linux && real && system && soak

package vm_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/vm"
	"github.com/forevervm/desktop/backend/machine"
)

// Code in a machine reaches nothing of the virtual machine, nor of the computer around it.
func TestNothingGetsOut(t *testing.T) {
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	p := remote.New(remote.Config{Name: "vm", Owner: newOwner(t), Dialer: vm.New(config(t, runtime.GOARCH, newFolder(t), log)), Patience: vm.Patience})
	defer closed(t, p)
	wake(t, p, "a", "").end() // which takes as long as a template does
	enginetest.RunEscape(t, escapes(p))
}

// A machine that was saved before an update is brought into memory after it, by the programs that
// saved it.
func TestAnUpdateOfAVirtualMachine(t *testing.T) {
	folder, owner := newFolder(t), newOwner(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := config(t, runtime.GOARCH, folder, log)
	p := remote.New(remote.Config{Name: "vm", Owner: owner, Dialer: vm.New(cfg), Patience: vm.Patience})
	a := wake(t, p, "a", "")
	a.expect("x = 41; x", "41")
	saved := a.checkpoint(p, "a")
	a.end()
	closed(t, p)

	runsc, err := os.ReadFile(cfg.Parts.Runsc)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Parts.Runsc = filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(cfg.Parts.Runsc, append(runsc, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	p = remote.New(remote.Config{Name: "vm", Owner: owner, Dialer: vm.New(cfg), Patience: vm.Patience})
	defer closed(t, p)
	wake(t, p, "a", saved).expect("x + 1", "42")
	wake(t, p, "b", "").expect("1 + 1", "2") // a new one has the new programs
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A full disk of the computer stops the virtual machine, and that is told. It starts again when
// there is room, and its machines come back.
func TestAFullComputer(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1800m"); err != nil {
		t.Fatalf("%v: run the tests as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", disk)
	folder := newFolder(t)
	v := vm.New(config(t, runtime.GOARCH, folder, slog.New(slog.NewTextHandler(t.Output(), nil))))
	p := remote.New(remote.Config{Name: "vm", Owner: newOwner(t), Dialer: v, Patience: vm.Patience})
	defer closed(t, p)
	a := wake(t, p, "a", "")
	a.expect("x = 41; x", "41")
	saved := a.checkpoint(p, "a")

	filler := filepath.Join(folder, "filler")
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, zeros{}); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	file.Close()
	// Whatever writes next to the data disk stops it.
	_ = a.Execute(t.Context(), a.next, "import os; big = os.urandom(100 << 20)", nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if info, err := a.Checkpoint(ctx, func() {}); err == nil {
		if err := p.Persist(ctx, "a", info.ID, true); err == nil {
			t.Fatal("a checkpoint is on a disk that is full")
		}
	}
	<-a.Ended()
	if cause := a.Cause(); cause.Kind != machine.EndedApart {
		t.Errorf("it ended as %+v", cause)
	}
	until(t, "a virtual machine that hangs is ended", func() bool { return !runs(t, folder) })
	said := ""
	until(t, "it is told why", func() bool {
		if problems := p.Check(t.Context()); len(problems) > 0 {
			said = problems[0].What
		}
		return strings.Contains(said, "The disk of this computer is full")
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until(t, "it works again", func() bool { return len(p.Check(t.Context())) == 0 })
	wake(t, p, "a", saved).expect("x", "41")
}
