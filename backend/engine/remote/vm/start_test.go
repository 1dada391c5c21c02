//go:build linux || darwin

package vm

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unready is a VM whose hypervisor is a script of the shell.
func unready(t *testing.T, folder, script string) *VM {
	t.Helper()
	files := t.TempDir()
	for name, size := range map[string]int64{"kernel": 1, "initramfs": 1, "agent": 1, "supervisor": 1, "runsc": 1, "base.erofs": partsBlock} {
		if err := errors.Join(os.WriteFile(filepath.Join(files, name), nil, 0o600), os.Truncate(filepath.Join(files, name), size)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(files, name) }
	v := New(Config{
		Folder: folder, Kernel: in("kernel"), Initramfs: in("initramfs"), Parts: Parts{in("agent"), in("supervisor"), in("runsc"), in("base.erofs")},
		Digest: digest, Hypervisor: Hypervisor{Name: "the hypervisor", Command: func(Machine) []string { return []string{"sh", "-c", script} }},
		Limits: func() (int, int64) { return 64, 1 << 20 }, Processors: 1, Linger: time.Minute, Alone: time.Minute, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// short is a folder whose path a socket's can begin with.
func short(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "vm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// What keeps a virtual machine from starting is told in words that help.
func TestWhatCannotStart(t *testing.T) {
	for name, one := range map[string]struct{ folder, script, want string }{
		"a hypervisor that ends": {short(t), "echo no such processor >&2; exit 1", "it ended while it started: no such processor"},
		"a comma in the path":    {filepath.Join(short(t), "a,b"), "exit 1", "has a comma. Choose another folder."},
		"a long path":            {filepath.Join(short(t), strings.Repeat("long", 30)), "exit 1", "too long for a socket. Choose another folder"},
	} {
		v := unready(t, one.folder, one.script)
		if _, err := v.Dial(t.Context()); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s is told as %v", name, err)
		}
		if v.Running() {
			t.Errorf("%s: it runs", name)
		}
	}
	none := unready(t, short(t), "")
	none.cfg.Hypervisor.Command = func(Machine) []string { return []string{"/no/such/hypervisor"} }
	if _, err := none.Dial(t.Context()); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("without a hypervisor: %v", err)
	}
	none.cfg.Kernel = "/no/such/kernel"
	if _, err := none.Dial(t.Context()); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "lacks a part of the virtual machine: kernel") {
		t.Errorf("without a kernel: %v", err)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	if _, err := none.Dial(t.Context()); err == nil {
		t.Error("it can be dialled after its end")
	}
}

// One daemon has the folder.
func TestTwoDaemonsAndOneFolder(t *testing.T) {
	folder := short(t)
	one, other := unready(t, folder, "exit 1"), unready(t, folder, "exit 1")
	if _, err := one.Dial(t.Context()); !errors.Is(err, machine.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := other.Dial(t.Context()); !errors.Is(err, machine.ErrConflict) {
		t.Errorf("the other daemon is told %v", err)
	}
}

// What a hypervisor and its guest say takes little room, and the start of it is kept for a while.
func TestLogsStayShort(t *testing.T) {
	v := unready(t, short(t), "")
	log := filepath.Join(v.cfg.Folder, consoleFile)
	if err := os.WriteFile(log, []byte(strings.Repeat("x", mostLog)), 0o600); err != nil {
		t.Fatal(err)
	}
	v.shorten()
	if now, err := os.Stat(log); err != nil || now.Size() != 0 {
		t.Errorf("it is %+v, %v", now, err)
	}
}
