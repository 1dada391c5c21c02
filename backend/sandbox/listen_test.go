//go:build linux && real

package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/sandbox"
)

// TestLinkBySocket does what a cluster's engine does in a pod: it puts a saved state in, opens the
// link by a second program, and takes out what was saved when the machine has ended. The supervisor
// stays until it is told to go.
func TestLinkBySocket(t *testing.T) {
	first := config(t)
	s, _ := connect(t, exec.Command(built(t, "supervisor"), append([]string{"run"}, first.Args()...)...))
	if got := value(t, s, 0, "(x := 41)"); got != "41" {
		t.Fatal(got)
	}
	info, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	unlocked(t, first)
	packed := beside(t, nil, "give", first.Machine, info.ID)

	cfg := config(t)
	cfg.Listen = filepath.Join(t.TempDir(), "link")
	cfg.Restore = filepath.Join(cfg.Machine, info.ID)
	supervisor := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	supervisor.Stderr = t.Output()
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- supervisor.Wait() }()
	t.Cleanup(func() { _ = supervisor.Process.Kill() })

	beside(t, packed, "take", cfg.Machine)
	s, _ = connect(t, exec.Command(built(t, "supervisor"), "connect", cfg.Listen))
	if got := value(t, s, 1, "x + 1"); got != "42" {
		t.Fatal(got)
	}
	s.Disconnect()
	<-s.Ended()
	saved := strings.Fields(string(beside(t, nil, "saved", cfg.Machine)))
	if len(saved) != 2 || saved[1] != sandbox.AllSaved {
		t.Fatalf("it saved %q", saved)
	}
	to := checkpoint.Folder(t.TempDir())
	archive := bytes.NewReader(beside(t, nil, "give", cfg.Machine, saved[0]))
	if _, err := to.Unpack(t.Context(), archive, 1<<40, func(checkpoint.Manifest) error { return nil }); err != nil {
		t.Fatal(err)
	}
	m, err := to.Load(saved[0])
	if err != nil || m.LastSeq != 1 {
		t.Errorf("it is %+v, %v", m, err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it did not wait to be told to go: %v", err)
	default:
	}
	if err := supervisor.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// beside runs the supervisor program as a pod does it beside the supervisor, and returns what it
// puts out.
func beside(t *testing.T, input []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(built(t, "supervisor"), args...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return out
}

// TestNobodyLinks has a supervisor end that is told to go before its link is there.
func TestNobodyLinks(t *testing.T) {
	cfg := config(t)
	cfg.Listen = filepath.Join(t.TempDir(), "link")
	supervisor := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	supervisor.Stderr = t.Output()
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, cfg.Listen)
	if err := supervisor.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPlaceIsWhole puts a file where a node reads it, and stays.
func TestPlaceIsWhole(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, []byte("a filter"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(built(t, "supervisor"), "place", from, to)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, to)
	if got, err := os.ReadFile(to); err != nil || string(got) != "a filter" {
		t.Errorf("%q, %v", got, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// awaitFile waits until a file is there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", path)
		}
	}
}
