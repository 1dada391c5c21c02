package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/engine/docker"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
)

// leftToSystem is how many bytes of memory all machines together leave to the system, where it can
// hold them to that. It is less than what settings say: the kernel ends those who go beyond.
const leftToSystem = 512 << 20

// engines are those of this system, and the one store that all of them save their machines in. An
// engine that lacks something here is among them all the same: its Check says what.
func (d *daemon) engines() (map[string]machine.Engine, *local.Store, error) {
	executable, err := d.executable()
	if err != nil {
		return nil, nil, err
	}
	bin := filepath.Dir(executable) // what sandboxes are made of lies there, too
	supervisor := filepath.Join(bin, "supervisor")
	store := local.NewStore(local.Config{
		Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: d.dirs.Data, Log: d.log, Warn: d.notes.add,
	})
	if os.Getenv(ownClusterVariable) != "" { // nobody's machine runs beside the daemon, in its own pod
		return nil, store, nil
	}
	all := map[string]machine.Engine{
		docker.Name: docker.New(docker.Config{Supervisor: supervisor, Store: store, Registry: os.Getenv("FOREVERVM_REGISTRY"), Log: d.log}),
	}
	if runtime.GOOS == "linux" {
		all[native.Name] = native.New(native.Config{Supervisor: supervisor, Store: store, Log: d.log, MemoryMax: max(0, totalMemory()-leftToSystem)})
	}
	return all, store, nil
}

// prepare lets the engines get ready, in the background; the function it returns waits for that.
// Each clears away what its last daemon left, and that of new machines makes ahead of time what the
// first one would have to wait for. The place of this computer, if it has one, is set up.
func (d *daemon) prepare(ctx context.Context, engines []machine.Engine, own ownPlace, store *local.Store, machines *service.Service) (wait func()) {
	ctx, stop := context.WithCancel(ctx) // the daemon may end with an error
	var all sync.WaitGroup
	now := machines.Status(ctx).Engines
	if own != nil {
		all.Go(func() {
			if err := own.Prepare(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn("the place of this computer is not ready", "err", err)
			}
			machines.CheckEngines()
		})
	}
	for _, engine := range engines {
		name := engine.Name()
		all.Go(func() {
			if able, ok := engine.(interface{ Reap(context.Context) error }); ok {
				if err := able.Reap(ctx); err != nil && ctx.Err() == nil {
					d.log.Warn("an engine keeps something of an earlier daemon", "engine", name, "err", err)
				}
			}
			able, ok := engine.(interface{ Prepare(context.Context) error })
			if !ok || !slices.ContainsFunc(now, func(e machine.EngineStatus) bool { return e.Name == name && e.Default }) {
				return
			}
			if err := able.Prepare(ctx); err != nil && ctx.Err() == nil {
				// Anyone who makes a machine hears of it, and so does anyone who looks at the
				// status.
				d.log.Warn("an engine is not ready", "engine", name, "err", err)
			}
		})
	}
	all.Go(func() { d.keepParts(ctx, store) })
	return func() {
		stop()
		all.Wait()
	}
}

// keepPartsAfter is how long after the daemon's start it sees for the first time whether copies of
// what sandboxes are made of are to be kept, which takes a processor for some seconds; from then on
// it does so each keepPartsEvery, and each forgetPartsEvery whether some can go. Where an update
// has replaced the files before, they are kept at the end, for keepPartsWithin at most.
const (
	keepPartsAfter   = time.Minute
	keepPartsEvery   = 5 * time.Minute
	keepPartsWithin  = time.Minute
	forgetPartsEvery = 24 * time.Hour
)

// keepParts sees to it that machines can be brought into memory after an update, too, whose image
// and runsc are others.
func (d *daemon) keepParts(ctx context.Context, store *local.Store) {
	held := store.HoldParts()
	defer held.Close()
	var forgot time.Time
	for wait := keepPartsAfter; ; wait = keepPartsEvery {
		select {
		case <-ctx.Done():
			if held.Replaced() {
				patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepPartsWithin)
				defer cancel()
				d.keptParts(held.Keep(patience))
			}
			return
		case <-time.After(wait):
		}
		err := held.Keep(ctx)
		if time.Since(forgot) >= forgetPartsEvery {
			forgot = time.Now()
			err = errors.Join(err, store.ForgetParts())
		}
		if ctx.Err() == nil {
			d.keptParts(err)
		}
	}
}

// keptParts tells what went wrong with keeping parts.
func (d *daemon) keptParts(err error) {
	if err != nil {
		d.log.Warn("after an update, machines that are there now may not come into memory", "err", err)
	}
}

// executable is the forevervm program: this one, or the one in the folder that was given. What it
// needs lies beside it.
func (d *daemon) executable() (string, error) {
	if d.config.Bin != "" {
		return filepath.Abs(filepath.Join(d.config.Bin, "forevervm"))
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program lies cannot be told: %w", err)
	}
	return filepath.Abs(self)
}
