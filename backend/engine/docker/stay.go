package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// stay is one stay of a machine in memory: what its container is made with.
type stay struct {
	id       machine.ID
	name     string
	parts    local.Parts
	folder   checkpoint.Folder // where its checkpoints go
	memory   int64             // bytes, 0 for no limit
	restore  string            // folder of the checkpoint to begin with, named by its id
	template templateCopy      // where restore is empty; the zero value starts afresh
	start    protocol.Start
}

// Sandbox is one machine in memory, in a container.
type Sandbox struct {
	*link.Sandbox
	e         *Engine
	d         *daemon
	stay      stay
	container string // its id
	volume    string
	attached  *attached

	killed   atomic.Bool
	carrying sync.Mutex // held while checkpoints are carried out; guards stay.memory
}

// launch makes the container, starts it and connects to its supervisor. On an error nothing is left of it.
func (e *Engine) launch(ctx context.Context, d *daemon, s stay) (*Sandbox, error) {
	image, err := e.ensureImage(ctx, d.api, s.parts)
	if err != nil {
		return nil, err
	}
	home, err := e.homeID()
	if err != nil {
		return nil, local.Describe(err)
	}
	tag := strings.ToLower(rand.Text()[:8])
	labels := map[string]string{homeLabel: home, machineLabel: string(s.id), nameLabel: s.name, lifeLabel: s.start.Life, imageLabel: s.parts.Name()}
	b := &Sandbox{e: e, d: d, stay: s, volume: containerName(s.name, s.id, tag)}
	if err := b.create(ctx, image, labels); err != nil {
		b.remove()
		return nil, e.failed(d, "The machine's container could not be made", err)
	}
	if s.restore != "" {
		if err := e.carryIn(ctx, d, b.container, s.restore); err != nil {
			b.remove()
			return nil, err
		}
	}
	if err := b.attach(ctx); err != nil {
		b.remove()
		return nil, e.failed(d, "The machine's container could not be started", err)
	}
	if err := b.connect(ctx); err != nil {
		return nil, b.refused(err)
	}
	return b, nil
}

// create makes the volume and the container.
func (b *Sandbox) create(ctx context.Context, image string, labels map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	b.e.volumes.RLock()
	defer b.e.volumes.RUnlock()
	if _, err := b.d.api.VolumeCreate(ctx, volume.CreateOptions{Name: b.volume, Labels: labels, DriverOpts: b.e.driver}); err != nil {
		return err
	}
	config, host := b.spec(image, labels).configs()
	made, err := b.d.api.ContainerCreate(ctx, config, host, nil, nil, b.volume)
	b.container = made.ID
	return err
}

// spec is what the container is made of.
func (b *Sandbox) spec(image string, labels map[string]string) spec {
	p := b.stay.parts
	config := sandbox.Config{
		Runsc: runscPath, RuntimeDigest: p.RuntimeDigest, Image: imagePath, ImageDigest: p.ImageDigest,
		Machine: machinePath, PidsMax: sandbox.PidsMax,
	}
	switch {
	case b.stay.restore != "":
		config.Restore = carriedPath(machinePath, filepath.Base(b.stay.restore))
	case b.stay.template.volume != "":
		config.Restore = carriedPath(templatePath, b.stay.template.checkpoint)
	}
	return spec{
		image: image, labels: maps.Clone(labels), volume: b.volume, template: b.stay.template.volume,
		memory: sandbox.HardLimit(b.stay.memory), cpus: b.d.cpus, unconfined: b.d.apparmor, args: append([]string{"run"}, config.Args()...),
	}
}

// attach starts the container with our end of its standard input and output.
func (b *Sandbox) attach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	conn, err := b.d.api.ContainerAttach(ctx, b.container, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	b.attached = attach(conn)
	if err := b.d.api.ContainerStart(ctx, b.container, container.StartOptions{}); err != nil {
		_ = b.attached.Close()
		return err
	}
	return nil
}

// connect shakes hands with the supervisor. From here on the link's end takes care of the container.
func (b *Sandbox) connect(ctx context.Context) error {
	b.e.running.Add(1)
	var err error
	b.Sandbox, err = link.Connect(ctx, b.attached, link.Options{
		Start: b.stay.start,
		Kill:  b.kill,
		Wait: func() {
			defer b.e.running.Done()
			b.seeOff()
		},
	})
	return err
}

// refused says that the container may not do what building the sandbox takes, where its supervisor ended because of that.
func (b *Sandbox) refused(err error) error {
	said := b.attached.stderr.String()
	for _, step := range []string{"start in a user name space", "make the mounts private", "mount the private root"} {
		if strings.Contains(said, step) {
			return &machine.Error{
				Kind: machine.ErrUnavailable,
				Message: "Docker does not let its containers build the sandbox: the computer that it runs on forbids them user name spaces or mounts. " +
					"On Ubuntu, let machines run without Docker (the engine native), or use Docker Desktop.",
				Cause: fmt.Errorf("%w: %s", err, said),
			}
		}
	}
	if errors.Is(err, machine.ErrConflict) { // the link ended before it was of use
		return &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The machine's container ended before the machine was in memory. Try again; the daemon's log says more.", Cause: fmt.Errorf("%w: %s", err, said),
		}
	}
	return err
}

func (b *Sandbox) kill() {
	b.killed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), apiPatience)
	defer cancel()
	if err := b.d.api.ContainerKill(ctx, b.container, "KILL"); err != nil && !cerrdefs.IsNotFound(err) {
		b.e.cfg.Log.Warn("killing a container", "machine", b.stay.id, "error", err)
	}
}

// seeOff waits for the container's end, takes over what it saved, and removes it. What cannot be done, as Docker is gone, is done when the machine is wanted
// next, or when the engine starts.
func (b *Sandbox) seeOff() {
	status, err := b.e.awaitExit(context.Background(), b.d, b.container)
	if err == nil {
		if said := b.attached.stderr.String(); status != 0 && !b.killed.Load() || said != "" {
			b.e.cfg.Log.Warn("a container ended", "machine", b.stay.id, "status", status, "stderr", said)
		}
		err = b.carryOut(context.Background(), "")
	}
	if err != nil {
		b.e.cfg.Log.Warn("a machine's container is left for now", "machine", b.stay.id, "container", b.container, "error", err)
		return
	}
	b.remove()
}

// remove removes the container, whatever its state, and its volume.
func (b *Sandbox) remove() {
	if err := b.e.removeContainer(context.Background(), b.d, b.container, b.volume); err != nil {
		b.e.cfg.Log.Warn("a machine's container is left for now", "machine", b.stay.id, "container", b.container, "error", err)
	}
}

// carryOut takes over the checkpoint id, or all where it is empty.
func (b *Sandbox) carryOut(ctx context.Context, id string) error {
	b.carrying.Lock()
	defer b.carrying.Unlock()
	return b.e.carryOut(ctx, b.d, b.container, b.stay.folder, id, b.stay.memory, accepts(b.stay.parts, b.stay.start.Life))
}

// Checkpoint saves the state, durable on our side when it returns, and keeps running.
func (b *Sandbox) Checkpoint(ctx context.Context) (machine.CheckpointInfo, error) {
	info, err := b.Sandbox.Checkpoint(ctx)
	if err != nil {
		return info, err
	}
	if err := b.carryOut(ctx, info.ID); err != nil {
		return machine.CheckpointInfo{}, err
	}
	if err := b.Discard(ctx, info.ID); err != nil { // then it goes with the container
		b.e.cfg.Log.Debug("a checkpoint that was carried away stays in its container", "machine", b.stay.id, "error", err)
	}
	return info, nil
}

// Stop saves the state, durable on our side when it returns, and ends the sandbox.
func (b *Sandbox) Stop(ctx context.Context) (machine.CheckpointInfo, error) {
	info, err := b.Sandbox.Stop(ctx)
	if err != nil {
		return info, err
	}
	if err := ctx.Err(); err != nil {
		return machine.CheckpointInfo{}, err
	}
	if _, err := b.stay.folder.Load(info.ID); err != nil {
		return machine.CheckpointInfo{}, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The machine was saved, but Docker does not give its state out of the container. It is fetched when the machine is wanted next.", Cause: err,
		}
	}
	return info, nil
}

// SetMemoryLimit changes what Python may allocate, and the container's limit so that it is never the lower one.
func (b *Sandbox) SetMemoryLimit(ctx context.Context, memoryMB int) error {
	limit := int64(memoryMB) << 20
	raise := func() error {
		ctx, cancel := context.WithTimeout(ctx, apiPatience)
		defer cancel()
		_, err := b.d.api.ContainerUpdate(ctx, b.container, container.UpdateConfig{Resources: limited(container.Resources{}, sandbox.HardLimit(limit))})
		return err
	}
	b.carrying.Lock()
	raised := limit == 0 || b.stay.memory > 0 && limit > b.stay.memory
	b.carrying.Unlock()
	if raised {
		if err := raise(); err != nil {
			return b.e.failed(b.d, "The limit could not be raised", err)
		}
	}
	if err := b.Sandbox.SetMemoryLimit(ctx, memoryMB); err != nil {
		return err
	}
	b.carrying.Lock()
	b.stay.memory = limit
	b.carrying.Unlock()
	if !raised {
		if err := raise(); err != nil { // it uses more already: the limit inside holds
			b.e.cfg.Log.Debug("a container's limit stays as it was", "machine", b.stay.id, "error", err)
		}
	}
	return nil
}

// awaitExit waits until a container has ended, and tells its status. One that is gone has ended, too.
func (e *Engine) awaitExit(ctx context.Context, d *daemon, id string) (status int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for deadline := time.Now().Add(lostPatience); ; {
		answers, errs := d.api.ContainerWait(ctx, id, container.WaitConditionNotRunning)
		select {
		case a := <-answers:
			if a.Error != nil {
				return a.StatusCode, fmt.Errorf("wait for a container: %s", a.Error.Message)
			}
			return a.StatusCode, nil
		case err = <-errs:
		}
		if cerrdefs.IsNotFound(err) {
			return 0, nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return 0, e.failed(d, "The machine's container could not be waited for", err)
		}
		select {
		case <-time.After(lostPoll):
		case <-ctx.Done():
		}
	}
}

const (
	// endPatience bounds how long a container may take to end: its supervisor saves within two minutes.
	endPatience = 3 * time.Minute
	// lostPatience bounds how long Docker may be away before a container is left to later.
	lostPatience = 2 * time.Second
	lostPoll     = 200 * time.Millisecond
)
