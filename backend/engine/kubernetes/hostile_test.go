//go:build linux && system

package kubernetes

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// hostileEngine is an engine whose pods hold a supervisor that means harm (testdata/hostile), and
// next to nothing else.
func hostileEngine(t *testing.T) *Engine {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "supervisor")
	build := exec.Command("go", "build", "-o", program, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"runsc", "base.erofs"} {
		if err := copyOr(filepath.Join(dir, name), program, name); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	e := newEngineOf(t, program, local.NewStore(local.Config{Runsc: filepath.Join(dir, "runsc"), Images: dir, Data: data, Log: log}), Cluster{})
	kubetest.Up(t).Import(t, imageArchive(t, e))
	e.patience.end = 4 * time.Second
	return e
}

// copyOr makes a small file. What runsc is said to be has to be a program.
func copyOr(to, program, name string) error {
	if name == "runsc" {
		return os.Link(program, to)
	}
	return os.WriteFile(to, []byte(rand.Text()), 0o600)
}

// Whatever a pod leaves behind, nothing of it lands elsewhere, and its machine goes on from the
// checkpoint before.
func TestHostileLeftovers(t *testing.T) {
	e := hostileEngine(t)
	for _, name := range []string{"link", "link-inside", "pipe", "endless", "many", "lives"} {
		t.Run(name, func(t *testing.T) {
			id := enginetest.NewID(t, e)
			good := enginetest.StartNamed(t, e, id, enginetest.CalmHeron, "")
			known, err := good.Checkpoint(enginetest.Bounded(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			good.Kill()
			good.AwaitEnd()

			m := enginetest.StartNamed(t, e, id, name, known.ID)
			m.Sandbox.(*Sandbox).Disconnect()
			m.AwaitEnd()
			if _, err := e.Reclaim(enginetest.Bounded(t), id, "", []string{known.ID}); err != nil {
				t.Errorf("reclaim: %v", err)
			}
			m = enginetest.StartNamed(t, e, id, enginetest.CalmHeron, known.ID)
			if _, err := m.Checkpoint(enginetest.Bounded(t), nil); err != nil {
				t.Errorf("after it: %v", err)
			}
			m.Kill()
			m.AwaitEnd()
			if left := leftovers(t, e); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			entries, err := os.ReadDir(string(local.Checkpoints(e.store.Machine(id))))
			if err != nil || len(entries) > 2+2*carry.MostCheckpoints {
				t.Errorf("%d checkpoints are here, %v", len(entries), err)
			}
		})
	}
}

func TestOlderCheckpointIsNotTakenForNew(t *testing.T) {
	e := hostileEngine(t)
	enginetest.OlderIsNotTakenForNew(t, e, e.store.Machine)
}

// TestSandboxIsForbidden is a cluster whose nodes forbid what the sandbox is built by. The person
// is told, and so is who asks what is wrong.
func TestSandboxIsForbidden(t *testing.T) {
	e := hostileEngine(t)
	_, err := enginetest.TryStartNamed(t, e, enginetest.NewID(t, e), "forbidden", "")
	if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "does not let its pods build the sandbox") {
		t.Errorf("the error is %v", err)
	}
	if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].Do, "administrator") {
		t.Errorf("the problems are %+v", problems)
	}
	if left := leftovers(t, e); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A checkpoint's name becomes part of a command line, and of a path here.
func TestNamesOfCheckpoints(t *testing.T) {
	for _, name := range []string{"", "..", "../../etc", "a b", "-rf", "/etc/passwd", "a\x00b", ".hidden"} {
		if checkpointID.MatchString(name) {
			t.Errorf("%q is taken", name)
		}
	}
	if !checkpointID.MatchString("00000009-0123456789abcdef") {
		t.Error("a real one is not taken")
	}
}
