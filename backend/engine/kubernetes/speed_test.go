//go:build linux && system && soak

package kubernetes

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/docker"
	"github.com/forevervm/desktop/backend/engine/docker/dockertest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
)

// TestSpeed measures how long it takes until a machine has given its first value, with each engine
// in turn: a new one, one that wakes, a fork, and twenty at once. It writes a table for
// docs/status.md.
func TestSpeed(t *testing.T) {
	bin := hometest.Bin(t, "supervisor", "runsc", "image/base.erofs")
	supervisor, log := filepath.Join(bin, "supervisor"), slog.New(slog.DiscardHandler)
	storeIn := func() *local.Store {
		return local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: t.TempDir(), Log: log})
	}
	dockerd, err := dockertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockerd.Stop(); err != nil {
			t.Error(err)
		}
	})
	type subject struct {
		machine.Engine
		store *local.Store
	}
	cluster, near, boxes := newEngine(t, t.TempDir()), storeIn(), storeIn()
	subjects := []subject{
		{native.New(native.Config{Supervisor: supervisor, Store: near, Log: log}), near},
		{docker.New(docker.Config{Supervisor: supervisor, Store: boxes, Host: dockerd.Host, Log: log}), boxes},
		{cluster, cluster.store},
	}
	for _, one := range subjects[:2] {
		t.Cleanup(func() {
			if err := one.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	took := map[string]map[string][]time.Duration{}
	note := func(engine, what string, began time.Time) {
		if took[what] == nil {
			took[what] = map[string][]time.Duration{}
		}
		took[what][engine] = append(took[what][engine], time.Since(began))
	}
	for round := range 3 { // the first makes what is made once
		for _, one := range subjects {
			if round == 1 {
				clear(took)
			}
			t.Run(one.Name(), func(t *testing.T) { // whose machines end with it
				measure(t, one.Engine, one.store, func(what string, began time.Time) { note(one.Name(), what, began) })
			})
		}
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| | native | Docker | cluster | cluster : native | cluster : Docker |\n| --- | --- | --- | --- | --- | --- |")
	for _, what := range []string{"new session", "wake", "checkpoint, durable at home", "fork", "20 at once"} {
		median := func(engine string) time.Duration {
			all := slices.SortedFunc(slices.Values(took[what][engine]), cmp.Compare)
			return all[len(all)/2]
		}
		n, d, k := median(native.Name), median(docker.Name), median(cluster.Name())
		fmt.Fprintf(&table, "| %s | %d ms | %d ms | %d ms | %.1f | %.1f |\n", what, n.Milliseconds(), d.Milliseconds(), k.Milliseconds(), float64(k)/float64(n), float64(k)/float64(d))
	}
	t.Log("\n" + table.String())
}

// measure takes the times of one engine.
func measure(t *testing.T, e machine.Engine, store *local.Store, note func(what string, began time.Time)) {
	began := time.Now()
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Expect("(x := 41)", "41")
	note("new session", began)
	info, err := m.Stop(enginetest.Bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	m.AwaitEnd()
	began = time.Now()
	m = enginetest.Start(t, e, id, info.ID)
	m.Expect("x + 1", "42")
	note("wake", began)
	began = time.Now()
	point, err := m.Checkpoint(enginetest.Bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	note("checkpoint, durable at home", began)
	began = time.Now()
	fork := enginetest.NewID(t, e)
	copied, err := store.Copy(enginetest.Bounded(t), id, point.ID, fork)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Start(t, e, fork, copied.ID).Expect("x + 1", "42")
	note("fork", began)
	began = time.Now()
	var all sync.WaitGroup
	for range 20 {
		id := enginetest.NewID(t, e)
		all.Go(func() {
			if m, err := enginetest.TryStart(t, e, id, ""); err != nil {
				t.Error(err)
			} else {
				m.Expect("6 * 7", "42")
			}
		})
	}
	all.Wait()
	note("20 at once", began)
}
