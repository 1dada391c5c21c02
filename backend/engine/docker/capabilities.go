package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// relaxation is a setting of containers that is given up where a Docker cannot hold it. What has
// none here is the floor: without it no machine runs.
type relaxation struct {
	told string // what that means, a sentence
	give func(*container.HostConfig)
}

var (
	withoutAppArmor = &relaxation{
		"AppArmor's profile for containers is off for machines, as it forbids the mounts that the sandbox is built from; everything else holds.",
		func(h *container.HostConfig) { h.SecurityOpt = append(h.SecurityOpt, "apparmor=unconfined") },
	}
	withoutProcessorLimit = &relaxation{
		"This Docker cannot bound processors: a machine may use all of them.",
		func(h *container.HostConfig) { h.NanoCPUs = 0 },
	}
	withoutWeight = &relaxation{
		"This Docker cannot weigh processors: a busy machine takes as much as any other program.",
		func(h *container.HostConfig) { h.CPUShares = 0 },
	}
	withoutMemoryLimit = &relaxation{
		"This Docker cannot bound memory: a machine's limit holds for its Python, and is watched, but nothing enforces it from outside.",
		func(h *container.HostConfig) { h.Memory, h.MemorySwap = 0, 0 },
	}
	withoutSwapLimit = &relaxation{
		"This Docker cannot bound swap: a machine's memory may be moved to Docker's disk.",
		func(h *container.HostConfig) { h.MemorySwap = 0 },
	}
	withoutPidsLimit = &relaxation{
		"This Docker cannot bound processes: only the sandbox itself does.",
		func(h *container.HostConfig) { h.PidsLimit = nil },
	}
)

// lacking is what a Docker says of itself that it cannot hold.
func lacking(info system.Info) (given []*relaxation) {
	for _, one := range []struct {
		able bool
		r    *relaxation
	}{
		{info.CPUCfsQuota && info.CPUCfsPeriod, withoutProcessorLimit},
		{info.CPUShares, withoutWeight},
		{info.MemoryLimit, withoutMemoryLimit},
		{info.SwapLimit || !info.MemoryLimit, withoutSwapLimit},
		{info.PidsLimit, withoutPidsLimit},
	} {
		if !one.able {
			given = append(given, one.r)
		}
	}
	return given
}

// doubtful is what may keep containers from building the sandbox; whether it does, a trial tells.
func doubtful(info system.Info) []*relaxation {
	if slices.Contains(info.SecurityOptions, "name=apparmor") {
		return []*relaxation{withoutAppArmor}
	}
	return nil
}

// relaxed tells what is given up in this Docker. Once for each, containers are tried, from the
// strictest settings down to the first that will do.
func (e *Engine) relaxed(ctx context.Context, d *daemon, image string) ([]*relaxation, error) {
	d.trying.Lock()
	defer d.trying.Unlock()
	for len(d.doubtful) > 0 {
		err := e.try(ctx, d, image, d.lacking)
		if err == nil {
			break
		}
		if !errors.Is(err, errRefused) {
			return nil, err
		}
		e.cfg.Log.Warn("Docker refuses a setting", "given up", d.doubtful[0].told, "error", err)
		d.lacking, d.doubtful = append(d.lacking, d.doubtful[0]), d.doubtful[1:]
	}
	d.doubtful = nil
	var notes []string
	for _, r := range d.lacking {
		notes = append(notes, r.told)
	}
	e.news.note(notes)
	return d.lacking, nil
}

// errRefused says that a container may not do what the sandbox is built by.
var errRefused = errors.New("the container may not build a sandbox")

// try starts a container that does what a supervisor begins with, and ends.
func (e *Engine) try(ctx context.Context, d *daemon, image string, given []*relaxation) error {
	home, err := e.homeID()
	if err != nil {
		return describe("The engine's own files cannot be used", err)
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	b := e.sandbox(d, stay{id: trialID})
	config, host := spec{
		image: image, labels: map[string]string{homeLabel: home, runLabel: e.run, machineLabel: string(trialID)}, cpus: d.cpus, args: []string{"probe"}, relaxed: given,
	}.configs()
	made, err := d.api.ContainerCreate(ctx, config, host, nil, nil, b.stay.containerName())
	if err != nil {
		return e.failed(d, "A container could not be tried", err)
	}
	b.container, b.volume = made.ID, ""
	defer b.remove()
	if err := b.attach(ctx); err != nil {
		return e.failed(d, "A container could not be tried", err)
	}
	defer func() { _ = b.attached.Close() }()
	status, err := e.awaitExit(ctx, d, b.container)
	if err != nil {
		return err
	}
	if status != 0 && status != sandbox.ExitNoProc { // without /proc it does with the container's
		select { // it has ended, and what it said is on its way
		case <-b.attached.done:
		case <-time.After(time.Second):
		}
		return fmt.Errorf("%w: status %d: %s", errRefused, status, b.attached.stderr.String())
	}
	return nil
}

// trialID stands for the machine of a container that is only tried. It is no machine's id.
const trialID machine.ID = "trial-"
