//go:build linux && system

package docker

import (
	"archive/tar"
	"crypto/rand"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
)

// hostileEngine is an engine whose containers hold a supervisor that means harm (testdata/hostile),
// and next to nothing else.
func hostileEngine(t *testing.T) *Engine {
	t.Helper()
	return hostileEngineIn(t, dockerd)
}

func hostileEngineIn(t *testing.T, d *dockertest.Daemon) *Engine {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "supervisor")
	build := exec.Command("go", "build", "-o", program, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"runsc", "base.erofs"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(rand.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := local.NewStore(local.Config{Runsc: filepath.Join(dir, "runsc"), Images: dir, Data: filepath.Join(dir, "data"), Log: log})
	e := newEngineOn(t, Config{Supervisor: program, Store: store, Host: d.Host, Log: log})
	e.patient = 4 * time.Second
	return e
}

// inContainer lists the checkpoints that a machine's container holds.
func inContainer(t *testing.T, m *enginetest.InMemory) (ids []string) {
	t.Helper()
	archive, _, err := dockerd.Client(t).CopyFromContainer(t.Context(), m.Sandbox.(*Sandbox).container, machinePath+"/checkpoints")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if err != nil {
			return ids
		}
		if id := filepath.Base(h.Name); h.Typeflag == tar.TypeDir && id != "checkpoints" {
			ids = append(ids, id)
		}
	}
}

// Whatever a container leaves behind, nothing of it lands elsewhere, and its machine goes on from
// the checkpoint before.
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

			for _, dies := range []string{"the link", "the daemon"} {
				m := enginetest.StartNamed(t, e, id, name, known.ID)
				box := m.Sandbox.(*Sandbox)
				if dies == "the daemon" {
					box.d = &daemon{api: dead(t)}
				}
				box.Disconnect()
				m.AwaitEnd()
			}
			next := newEngineOn(t, e.cfg)
			next.patient = e.patient
			if _, err := next.Reclaim(enginetest.Bounded(t), id, "", []string{known.ID}); err != nil {
				t.Errorf("reclaim: %v", err)
			}
			m := enginetest.StartNamed(t, next, id, enginetest.CalmHeron, known.ID)
			if _, err := m.Checkpoint(enginetest.Bounded(t), nil); err != nil {
				t.Errorf("after it: %v", err)
			}
			m.Kill()
			m.AwaitEnd()
			if left := containers(t, next, id); len(left) > 0 {
				t.Errorf("left are %+v", left)
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

// A daemon that died while a checkpoint was carried out has left half of it, which does not keep
// the next from carrying it out.
func TestCarryingOutWasCutOff(t *testing.T) {
	e := hostileEngine(t)
	id := enginetest.NewID(t, e)
	m := enginetest.StartNamed(t, e, id, enginetest.CalmHeron, "")
	told, err := m.Sandbox.(*Sandbox).Sandbox.Checkpoint(enginetest.Bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(local.Checkpoints(e.store.Machine(id)).Path(told.ID+".partial"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.Sandbox.(*Sandbox).d = &daemon{api: dead(t)}
	m.Sandbox.(*Sandbox).Disconnect()
	m.AwaitEnd()
	next := newEngineOn(t, e.cfg)
	info, err := next.Reclaim(enginetest.Bounded(t), id, m.Life, nil)
	if err != nil || info == nil || info.ID != told.ID {
		t.Errorf("reclaimed %+v, %v", info, err)
	}
}

// A checkpoint that cannot be taken over does not stay in the container, where one more would come
// every few minutes.
func TestNothingPilesUp(t *testing.T) {
	e := hostileEngine(t)
	id := enginetest.NewID(t, e)
	m := enginetest.StartNamed(t, e, id, enginetest.CalmHeron, "")
	if err := os.WriteFile(string(local.Checkpoints(e.store.Machine(id))), nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	if _, err := m.Checkpoint(enginetest.Bounded(t), nil); err == nil {
		t.Error("it was taken over to nowhere")
	}
	if got := inContainer(t, m); len(got) > 0 {
		t.Errorf("the container holds %q", got)
	}
}
