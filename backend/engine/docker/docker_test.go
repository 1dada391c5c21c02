//go:build linux && system

package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
)

// dockerd is the one that all tests share: loading the sandbox image into it is what takes longest.
var dockerd *dockertest.Daemon

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if dockerd, err = dockertest.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		status := m.Run()
		os.RemoveAll(shared.data)
		if err := dockerd.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		if err := goleak.Find(); err != nil && status == 0 {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		return status
	}())
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		e := newEngine(t, t.TempDir())
		return enginetest.Subject{
			Engine:      e,
			Checkpoints: e.store,
			Disconnect:  func(s machine.Sandbox) { s.(*Sandbox).Disconnect() },
			Processes:   func(t testing.TB, id machine.ID) map[string]int { return processes(t, e, id) },
			Undialled:   func(t *testing.T) enginetest.Outside { return egresstest.Undialled(t) },
			Internet:    func(t *testing.T) enginetest.Outside { return egresstest.Internet(t) },
			Folder:      e.store.Machine,
			Leftovers:   func(t testing.TB) []string { return leftovers(t, e) },
		}
	})
}

// newEngine makes an engine of what `make build` has built.
func newEngine(t testing.TB, data string) *Engine {
	t.Helper()
	bin := hometest.Bin(t, "supervisor", "runsc", "image/base.erofs")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: data, Log: log})
	cfg := Config{Supervisor: filepath.Join(bin, "supervisor"), Store: store, Host: dockerd.Host, Log: log}
	shareTemplate(t, cfg)
	return newEngineOn(t, cfg)
}

// newEngineOn makes an engine that is closed after the test, with a store of its own, as another
// daemon has it.
func newEngineOn(t testing.TB, cfg Config) *Engine {
	t.Helper()
	cfg.Store = local.NewStore(cfg.Store.Config())
	e := New(cfg)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// shared is where the template lies that all tests share.
var shared struct {
	once sync.Once
	data string
}

// shareTemplate gives a data folder the template of new machines, which is made by the first test
// that needs it, and the digests of what it is made of.
func shareTemplate(t testing.TB, cfg Config) {
	t.Helper()
	shared.once.Do(func() {
		var err error
		if shared.data, err = os.MkdirTemp("", "dockertest-template-"); err != nil {
			t.Fatal(err)
		}
		place := cfg.Store.Config()
		place.Data = shared.data
		own := cfg
		own.Store = local.NewStore(place)
		e := New(own)
		if err := e.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	lend := func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(shared.data, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(cfg.Store.Config().Data, rel), 0o700)
		}
		if err := os.Link(path, filepath.Join(cfg.Store.Config().Data, rel)); !errors.Is(err, os.ErrExist) {
			return err
		}
		return nil
	}
	for _, name := range []string{"templates", "digests.json"} {
		if err := filepath.WalkDir(filepath.Join(shared.data, name), lend); err != nil {
			t.Fatal(err)
		}
	}
}

// containers are the engine's, but for the one that it has made ahead.
func containers(t testing.TB, e *Engine, id machine.ID) []container.Summary {
	t.Helper()
	list, err := e.list(context.Background(), &daemon{api: dockerd.Client(t)}, id)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(c container.Summary) bool {
		of, _ := whose(c)
		return of == spareID && c.Labels[runLabel] == e.run
	})
}

// processes finds those of a machine, as this computer sees them.
func processes(t testing.TB, e *Engine, id machine.ID) map[string]int {
	found := map[string]int{}
	for _, c := range containers(t, e, id) {
		info, err := dockerd.Client(t).ContainerInspect(context.Background(), c.ID)
		if cerrdefs.IsNotFound(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.State.Pid > 0 {
			found["supervisor"] = info.State.Pid
		}
	}
	all := nativetest.All(t)
	for _, p := range all {
		if found["supervisor"] != 0 && p.Parent == found["supervisor"] && p.Args[0] == "/proc/self/exe" {
			found["inner"] = p.PID
		}
	}
	for _, p := range all {
		if found["inner"] != 0 && p.Parent == found["inner"] && strings.HasPrefix(p.Args[0], "runsc-") {
			found[strings.TrimPrefix(p.Args[0], "runsc-")] = p.PID
		}
	}
	return found
}

// leftovers waits until nothing is left of machines, and tells what stays.
func leftovers(t testing.TB, e *Engine) []string {
	api := dockerd.Client(t)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for _, c := range containers(t, e, "") {
			left = append(left, fmt.Sprintf("container %s, %s", c.Names, c.State))
		}
		filter, err := e.filter()
		if err != nil {
			t.Fatal(err)
		}
		list, err := api.VolumeList(context.Background(), volume.ListOptions{Filters: filter})
		if err != nil {
			t.Fatal(err)
		}
		e.templating.Lock()
		ahead := 0
		for _, v := range list.Volumes {
			if v.Labels[machineLabel] == string(spareID) && v.Labels[runLabel] == e.run {
				if ahead++; ahead == 1 {
					continue
				}
			}
			if !slices.ContainsFunc(slicesOf(e.templates), func(t templateCopy) bool { return t.volume == v.Name }) {
				left = append(left, "volume "+v.Name)
			}
		}
		e.templating.Unlock()
		_ = filepath.WalkDir(e.store.Config().Data, func(path string, _ os.DirEntry, _ error) error {
			if strings.HasSuffix(path, ".partial") || strings.HasSuffix(path, ".removed") {
				left = append(left, path)
			}
			return nil
		})
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func slicesOf[K comparable, V any](m map[K]V) []V {
	var out []V
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
