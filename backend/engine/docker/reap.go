package docker

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// settle takes over what an earlier stay of a claimed machine left in Docker.
func (e *Engine) settle(ctx context.Context, d *daemon, id machine.ID) error {
	// What was carried out by halves is carried out again.
	if err := local.Checkpoints(e.store.Machine(id)).Sweep(); err != nil {
		return local.Describe(err)
	}
	left, err := e.list(ctx, d, id)
	if err != nil {
		return err
	}
	for _, c := range left {
		if err := e.takeOver(ctx, d, id, c); err != nil {
			return err
		}
	}
	return nil
}

// takeOver waits for the end of a container that an earlier daemon started: without it, its
// supervisor saves the machine and ends. Then it is removed.
func (e *Engine) takeOver(ctx context.Context, d *daemon, id machine.ID, c container.Summary) error {
	dir := e.store.Machine(id)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || c.State == "created" {
		return e.removeContainer(ctx, d, c.ID, volumeOf(c))
	}
	if _, err := e.awaitEnd(ctx, d, c.ID); err != nil {
		if ctx.Err() != nil {
			return carry.StillSaved(err)
		}
		return err
	}
	// What it was given may not be what is here now, and what it saved may be wanted by a version
	// that has that.
	image, runtime, _ := strings.Cut(c.Labels[partsLabel], " ")
	_, life := whose(c)
	if err := e.carryOut(ctx, d, c.ID, local.Checkpoints(dir), "", 0, carry.Content{Image: image, Runtime: runtime, Life: life}); err != nil {
		return err
	}
	return e.removeContainer(ctx, d, c.ID, volumeOf(c))
}

// partsText is the value of partsLabel.
func partsText(p local.Parts) string { return p.ImageDigest + " " + p.RuntimeDigest }

// volumeOf is the container's own volume.
func volumeOf(c container.Summary) string {
	for _, m := range c.Mounts {
		if m.Destination == machinePath {
			return m.Name
		}
	}
	return ""
}

// list lists our containers of a machine, or of all where id is empty.
func (e *Engine) list(ctx context.Context, d *daemon, id machine.ID) ([]container.Summary, error) {
	filter, err := e.filter()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	list, err := d.api.ContainerList(ctx, container.ListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, e.failed(d, "Docker does not tell which containers it has", err)
	}
	return slices.DeleteFunc(list, func(c container.Summary) bool {
		of, _ := whose(c)
		return id != "" && of != id
	}), nil
}

// filter is for what is ours in Docker.
func (e *Engine) filter() (filters.Args, error) {
	home, err := e.homeID()
	if err != nil {
		return filters.Args{}, local.Describe(err)
	}
	return filters.NewArgs(filters.Arg("label", homeLabel+"="+home)), nil
}

// removeLeft removes what is left of a machine that is gone.
func (e *Engine) removeLeft(ctx context.Context, d *daemon, id machine.ID) error {
	left, err := e.list(ctx, d, id)
	if err != nil {
		return err
	}
	for _, c := range left {
		err = errors.Join(err, e.removeContainer(ctx, d, c.ID, volumeOf(c)))
	}
	return err
}

// removeContainer removes a container, whatever its state, and its volume (empty for none). What is
// gone already is no error.
func (e *Engine) removeContainer(ctx context.Context, d *daemon, id, volume string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiPatience)
	defer cancel()
	var err error
	if id != "" {
		err = d.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
		if cerrdefs.IsConflict(err) { // somebody else is just removing it
			answers, errs := d.api.ContainerWait(ctx, id, container.WaitConditionRemoved)
			select {
			case <-answers:
				err = nil
			case err = <-errs:
			}
		}
	}
	if err == nil || cerrdefs.IsNotFound(err) {
		err = nil
		if volume != "" {
			err = d.api.VolumeRemove(ctx, volume, true)
		}
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		return e.failed(d, "A container could not be removed", err)
	}
	return nil
}

// Reap takes over, or removes, what daemons before this one left in Docker. What belongs to another
// home is left alone.
func (e *Engine) Reap(ctx context.Context) error {
	if _, err := os.Stat(e.homeFile()); errors.Is(err, os.ErrNotExist) {
		return nil // this home never had anything in Docker
	}
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	left, err := e.list(ctx, d, "")
	if err != nil {
		return err
	}
	for _, c := range left {
		err = errors.Join(err, e.reapContainer(ctx, d, c))
	}
	return errors.Join(err, e.reapVolumes(ctx, d))
}

func (e *Engine) reapContainer(ctx context.Context, d *daemon, c container.Summary) error {
	id, _ := whose(c)
	if local.ValidID(id) != nil { // one made ahead, or that of a template
		if c.Labels[runLabel] == e.run {
			return nil
		}
		return e.removeContainer(ctx, d, c.ID, volumeOf(c))
	}
	release, _ := e.claims.Try(id)
	if release == nil {
		return nil // who is busy with it takes care of that
	}
	defer release()
	return e.settle(ctx, d, id)
}

// reapVolumes removes the volumes that no container has.
func (e *Engine) reapVolumes(ctx context.Context, d *daemon) error {
	filter, err := e.filter()
	if err != nil {
		return err
	}
	filter.Add("dangling", "true")
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	e.volumes.Lock()
	defer e.volumes.Unlock()
	list, err := d.api.VolumeList(ctx, volume.ListOptions{Filters: filter})
	if err != nil {
		return e.failed(d, "Docker does not tell which volumes it has", err)
	}
	ours := map[string]bool{}
	e.templating.Lock()
	for _, t := range e.templates {
		ours[t.volume] = true
	}
	e.templating.Unlock()
	for _, v := range list.Volumes {
		if !ours[v.Name] {
			if rm := d.api.VolumeRemove(ctx, v.Name, false); rm != nil && !cerrdefs.IsNotFound(rm) {
				err = errors.Join(err, rm)
			}
		}
	}
	return err
}
