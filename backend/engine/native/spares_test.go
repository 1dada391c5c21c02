//go:build linux && real

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// startNew brings a new machine into memory and ends it with the test.
func startNew(t *testing.T, e *Engine, id machine.ID) *link.Sandbox {
	t.Helper()
	box, err := e.Start(t.Context(), machine.StartSpec{ID: id, Name: "test", Image: "base", MemoryMB: 512, Life: "life"})
	if err != nil {
		t.Fatal(err)
	}
	s := box.(*link.Sandbox)
	t.Cleanup(func() {
		s.Kill()
		for range s.Frames() {
		}
		<-s.Ended()
	})
	return s
}

// wasSpare says whether the machine's supervisor was started before anybody knew of the machine.
func wasSpare(t *testing.T, e *Engine, id machine.ID) bool {
	t.Helper()
	pid := nativetest.Of(t, e.store.Machine(id))["supervisor"]
	for _, p := range nativetest.All(t) {
		if p.PID == pid {
			return !slices.Contains(p.Args, "-spare=")
		}
	}
	t.Fatalf("machine %s has no supervisor", id)
	return false
}

// theSpare is the one that waits.
func theSpare(t *testing.T, e *Engine) *spare {
	t.Helper()
	var next *spare
	eventually(t, "a sandbox waits", func() bool {
		e.spares.mu.Lock()
		defer e.spares.mu.Unlock()
		next = e.spares.next
		return next != nil
	})
	return next
}

// run runs an expression and returns its repr.
func run(t *testing.T, s *link.Sandbox, seq int, code string) string {
	t.Helper()
	if err := s.Execute(t.Context(), seq, code, nil); err != nil {
		t.Fatal(err)
	}
	for f := range s.Frames() {
		if f.Type == machine.FrameResult && f.Seq == seq {
			if f.Result.Value == nil {
				t.Fatalf("%s: %+v", code, f.Result)
			}
			return *f.Result.Value
		}
	}
	t.Fatalf("the sandbox ended: %+v", s.Cause())
	return ""
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func spareFolders(e *Engine) []string {
	folders, _ := filepath.Glob(filepath.Join(e.store.Config().Data, "spares", "*"))
	return folders
}

// The second machine comes into the sandbox that was made meanwhile, and is as any other: it keeps
// its state, its folder holds nothing that does not belong there, and its own memory limit is the
// group's.
func TestSandboxMadeAheadBecomesTheMachine(t *testing.T) {
	e := lentEngine(t, t.TempDir())
	startNew(t, e, "first")
	theSpare(t, e)
	s := startNew(t, e, "second")
	if wasSpare(t, e, "first") || !wasSpare(t, e, "second") {
		t.Fatal("the first machine had a sandbox made ahead, or the second had none")
	}
	if got := run(t, s, 0, "x = 41; open('/root/kept', 'w').write('1'); x"); got != "41" {
		t.Errorf("x is %s", got)
	}
	lock, err := os.ReadFile(filepath.Join(e.store.Machine("second"), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	limits, _ := filepath.Glob("/sys/fs/cgroup/memory*/*/" + string(lock) + "/memory.limit_in_bytes")
	for _, pattern := range []string{"/sys/fs/cgroup/memory/" + string(lock) + "/memory.limit_in_bytes", "/sys/fs/cgroup/*/*/*/" + string(lock) + "/memory.max"} {
		more, _ := filepath.Glob(pattern)
		limits = append(limits, more...)
	}
	for _, path := range limits {
		if b, _ := os.ReadFile(path); strings.TrimSpace(string(b)) == "max" || len(strings.TrimSpace(string(b))) > 13 {
			t.Errorf("%s has no limit: %s", path, b)
		}
	}
	if _, err := os.Stat(filepath.Join(e.store.Machine("second"), "restore")); !os.IsNotExist(err) {
		t.Errorf("links to the checkpoint stay: %v", err)
	}
	info, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range s.Frames() {
	}
	<-s.Ended()
	woken, err := e.Start(t.Context(), machine.StartSpec{ID: "second", Name: "test", Image: "base", MemoryMB: 512, Checkpoint: info.ID, Life: "next"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { woken.Kill(); <-woken.Ended() }()
	if got := run(t, woken.(*link.Sandbox), 1, "x, open('/root/kept').read()"); got != "(41, '1')" {
		t.Errorf("after a wake: %s", got)
	}
}

// A sandbox that waits ends with the engine and with the daemon, however that ends, and leaves
// nothing.
func TestSandboxMadeAheadLeavesNothing(t *testing.T) {
	ends := map[string]func(e *Engine, s *spare){
		"closed":               func(e *Engine, _ *spare) { _ = e.Close() },
		"the daemon is killed": func(_ *Engine, s *spare) { s.claim.Close(); s.pipes.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			e := lentEngine(t, t.TempDir())
			first := startNew(t, e, "first")
			s := theSpare(t, e)
			first.Kill()
			end(e, s)
			<-s.ended
			eventually(t, "the folder is gone", func() bool { return len(spareFolders(e)) == 0 })
		})
	}
}

// Whatever becomes of a sandbox that waits, machines start.
func TestSandboxMadeAheadIsKilled(t *testing.T) {
	for _, victim := range []string{"supervisor", "sandbox", "gofer"} {
		t.Run(victim, func(t *testing.T) {
			e := lentEngine(t, t.TempDir())
			startNew(t, e, "first")
			s := theSpare(t, e)
			var pid int
			eventually(t, "it has a "+victim, func() bool {
				pid = nativetest.Of(t, s.cfg.Spare)[victim]
				return pid != 0
			})
			if victim == "supervisor" {
				s.kill()
				<-s.ended
			} else if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := run(t, startNew(t, e, "second"), 0, "6*7"); got != "42" {
				t.Errorf("6*7 is %s", got)
			}
			e.spares.close()
			eventually(t, "the folder is gone", func() bool { return len(spareFolders(e)) == 0 })
		})
	}
}

// Where sandboxes made ahead are of no use, machines start without, and no more are made in vain.
func TestSandboxesMadeAheadAreGivenUp(t *testing.T) {
	e := lentEngine(t, t.TempDir())
	startNew(t, e, "first")
	for i := range local.MaxUseless {
		s := theSpare(t, e)
		var pid int
		eventually(t, "it has a sandbox", func() bool {
			pid = nativetest.Of(t, s.cfg.Spare)["sandbox"]
			return pid != 0
		})
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		startNew(t, e, machine.ID(fmt.Sprintf("next%d", i)))
	}
	e.spares.mu.Lock()
	defer e.spares.mu.Unlock()
	if e.spares.next != nil {
		t.Error("one more is made")
	}
}

// What a sandbox that waited left when it and its daemon were killed, the next daemon removes.
func TestLeftSparesAreSwept(t *testing.T) {
	data := t.TempDir()
	left := filepath.Join(data, "spares", "left")
	if err := os.MkdirAll(filepath.Join(left, "scratch"), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := sandbox.Lock(filepath.Join(data, "spares", "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	e := lentEngine(t, data)
	startNew(t, e, "first")
	theSpare(t, e) // before it was made, they were swept
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(data, "spares", "held")); err != nil {
		t.Errorf("one that lives was removed: %v", err)
	}
}
