package docker

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
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
	shared   *machine.SharedFolder // see machine.StartSpec
	unshared machine.Unshared      // why shared is nil though it was asked for
	damaged  func() (helps string) // see link.Options

	authorities []byte         // see machine.StartSpec
	connect     func(net.Conn) // see machine.StartSpec
}

// Sandbox is one machine in memory, in a container.
type Sandbox struct {
	*carry.Carried
	e         *Engine
	d         *daemon
	stay      stay
	container string // its id
	volume    string
	attached  *attached
	status    int64 // that it ended with; set once the link has ended

	killed   atomic.Bool
	carrying sync.Mutex // held while checkpoints are carried out; guards stay.memory
}

// restorePath is where in the container the checkpoint lies that the stay begins with; empty for
// none.
func (s stay) restorePath() string {
	switch {
	case s.restore != "":
		return carriedPath(machinePath, filepath.Base(s.restore))
	case s.template.volume != "":
		return carriedPath(templatePath, s.template.checkpoint)
	}
	return ""
}

// launch brings a machine into memory: in the container that was made ahead where there is one,
// else in one of its own. On an error nothing is left of it.
func (e *Engine) launch(ctx context.Context, d *daemon, s stay) (*Sandbox, error) {
	image, err := e.ensureImage(ctx, d, s.parts)
	if err != nil {
		return nil, err
	}
	if s.restorePath() == "" {
		return e.launchOwn(ctx, d, image, s)
	}
	k := kind{d, image}
	var b *Sandbox
	if s.shared == nil { // a container's mounts cannot be changed
		b, err = e.launchSpare(ctx, k, s)
	}
	if b == nil && err == nil {
		b, err = e.launchOwn(ctx, d, image, s)
	}
	if err != nil {
		return nil, err
	}
	e.full.Store(0)
	e.spares.refill(k, s.parts, s.memory)
	return b, nil
}

// launchSpare is launch in the container that was made ahead. It returns nothing where there is
// none that is of use.
func (e *Engine) launchSpare(ctx context.Context, k kind, s stay) (*Sandbox, error) {
	b := e.spares.take(ctx, k)
	if b == nil {
		return nil, nil
	}
	err := b.claim(ctx, s)
	if err != nil {
		_ = b.attached.Close()
		b.remove()
	} else {
		err = b.connect(ctx)
	}
	switch {
	case err == nil:
		e.spares.ahead.Worked()
		return b, nil
	case ctx.Err() != nil:
		return nil, err
	}
	e.spares.failed()
	// It may be to blame for anything: whether the checkpoint is of use, a container of its own
	// tells.
	e.cfg.Log.Warn("a container that was made ahead is of no use", "machine", s.id, "error", err)
	return nil, nil
}

// launchOwn is launch in a container of its own. The folder that is shared with the machine is to
// keep nobody from it.
func (e *Engine) launchOwn(ctx context.Context, d *daemon, image string, s stay) (*Sandbox, error) {
	b, err := e.launchWith(ctx, d, image, s)
	if err == nil || s.shared == nil || ctx.Err() != nil {
		return b, err
	}
	said := strings.ReplaceAll(err.Error(), s.shared.Path, "the folder") // whose name is nobody's business in a log
	e.cfg.Log.Warn("a machine is started once more, without its shared folder", "machine", s.id, "error", said)
	s.shared, s.unshared = nil, machine.UnsharedRefused
	return e.launchWith(ctx, d, image, s)
}

// launchWith is launchOwn with the folder, or not at all.
func (e *Engine) launchWith(ctx context.Context, d *daemon, image string, s stay) (*Sandbox, error) {
	b := e.sandbox(d, s)
	if err := b.create(ctx, image); err != nil {
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

// sandbox is one that has no container yet.
func (e *Engine) sandbox(d *daemon, s stay) *Sandbox {
	b := &Sandbox{e: e, d: d, volume: s.containerName() + "-" + random()}
	b.is(s)
	return b
}

// is says whose stay it is.
func (b *Sandbox) is(s stay) {
	b.stay = s
	b.Carried = carry.On(carry.Way{Machine: s.id, From: "Docker", Folder: s.folder, Life: s.start.Life, Log: b.e.cfg.Log, Home: b.carryOut})
}

// create makes the volume and the container.
func (b *Sandbox) create(ctx context.Context, image string) error {
	home, err := b.e.homeID()
	if err != nil {
		return local.Describe(err)
	}
	relaxed, err := b.e.relaxed(ctx, b.d, image)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	b.e.volumes.RLock()
	defer b.e.volumes.RUnlock()
	s := b.spec(image, home, relaxed)
	if _, err := b.d.api.VolumeCreate(ctx, volume.CreateOptions{Name: b.volume, Labels: s.labels, DriverOpts: b.e.driver}); err != nil {
		return err
	}
	config, host := s.configs()
	made, err := b.d.api.ContainerCreate(ctx, config, host, nil, nil, b.stay.containerName())
	b.container = made.ID
	return err
}

// spec is what the container is made of.
func (b *Sandbox) spec(image, home string, relaxed []*relaxation) spec {
	s, p := b.stay, b.stay.parts
	config := sandbox.Config{
		Runsc: ociimage.Runsc, RuntimeDigest: p.RuntimeDigest, Image: ociimage.Image, ImageDigest: p.ImageDigest,
		Machine: machinePath, Restore: s.restorePath(), PidsMax: sandbox.PidsMax,
	}
	if s.shared != nil {
		config.Shared, config.Writable = sharedPath, s.shared.Writable
	}
	if s.id == spareID {
		config.Machine, config.Restore = "", ""
		config.Spare, config.Template, config.ClaimOnStdin = sparePath, s.restorePath(), true
	}
	return spec{
		image: image, volume: b.volume, template: s.template.volume, shared: s.shared,
		labels: map[string]string{
			homeLabel: home, runLabel: b.e.run, machineLabel: string(s.id), nameLabel: s.name, lifeLabel: s.start.Life,
			imageLabel: p.Name(), partsLabel: partsText(p),
		},
		memory: sandbox.HardLimit(s.memory), cpus: b.d.cpus, relaxed: relaxed, args: append([]string{"run"}, config.Args()...),
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

// connect shakes hands with the supervisor. From here on the link's end takes care of the
// container.
func (b *Sandbox) connect(ctx context.Context) error {
	b.e.running.Add(1)
	var err error
	b.Sandbox, err = link.Connect(ctx, b.attached, link.Options{
		Start:       b.stay.start,
		Authorities: b.stay.authorities,
		Connect:     b.stay.connect,
		Unshared:    b.stay.unshared,
		Rush:        b.e.store.Rush,
		Damaged:     b.stay.damaged,
		Kill:        b.kill,
		Wait: func() {
			defer b.e.running.Done()
			b.seeOff()
		},
	})
	return err
}

// refused says that the container may not do what building the sandbox takes, where its supervisor
// ended because of that.
func (b *Sandbox) refused(err error) error {
	if b.status != sandbox.ExitForbidden {
		return err
	}
	return &machine.Error{
		Kind: machine.ErrUnavailable,
		Message: "Docker does not let its containers build the sandbox: the computer that it runs on forbids them user name spaces or mounts. " +
			"On Ubuntu, let machines run without Docker (the engine native), or use Docker Desktop.",
		Cause: fmt.Errorf("%w: %s", err, b.attached.stderr.String()),
	}
}

func (b *Sandbox) kill() {
	b.killed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), apiPatience)
	defer cancel()
	if err := b.d.api.ContainerKill(ctx, b.container, "KILL"); err != nil && !cerrdefs.IsNotFound(err) {
		b.e.cfg.Log.Warn("killing a container", "machine", b.stay.id, "error", err)
	}
}

// seeOff waits for the container's end, takes over what it saved, and removes it. What cannot be
// done, as Docker is gone, is done when the machine is wanted next, or when the engine starts.
func (b *Sandbox) seeOff() {
	status, err := b.e.awaitEnd(context.Background(), b.d, b.container)
	if err == nil {
		b.status = status
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
	if id != "" {
		if _, err := b.stay.folder.Load(id); err == nil {
			return nil
		}
	}
	return b.e.carryOut(ctx, b.d, b.container, b.stay.folder, id, b.stay.memory, carry.ContentOf(b.stay.parts, b.stay.start.Life))
}

// SetMemoryLimit changes what programs inside may use, and the container's limit so that it is
// never the lower one.
func (b *Sandbox) SetMemoryLimit(ctx context.Context, memoryMB int) error {
	limit := int64(memoryMB) << 20
	b.carrying.Lock()
	raised := limit == 0 || b.stay.memory > 0 && limit > b.stay.memory
	b.carrying.Unlock()
	if raised {
		if err := b.limit(ctx, limit); err != nil {
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
		if err := b.limit(ctx, limit); err != nil { // it uses more already: the limit inside holds
			b.e.cfg.Log.Debug("a container's limit stays as it was", "machine", b.stay.id, "error", err)
		}
	}
	return nil
}

// awaitEnd waits until a container has ended, and tells its status. One whose supervisor takes
// longer than it ever should is killed.
func (e *Engine) awaitEnd(ctx context.Context, d *daemon, id string) (status int64, err error) {
	bounded, cancel := context.WithTimeout(ctx, e.patient)
	defer cancel()
	status, err = e.awaitExit(bounded, d, id)
	if err == nil || bounded.Err() == nil || ctx.Err() != nil {
		return status, err
	}
	e.cfg.Log.Warn("a container does not end, and is killed", "container", id)
	last, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	if err := d.api.ContainerKill(last, id, "KILL"); err != nil && !cerrdefs.IsNotFound(err) && !cerrdefs.IsConflict(err) {
		return 0, e.failed(d, "The machine's container could not be ended", err)
	}
	return e.awaitExit(last, d, id)
}

// awaitExit waits until a container has ended, and tells its status. One that is gone has ended,
// too.
func (e *Engine) awaitExit(ctx context.Context, d *daemon, id string) (status int64, err error) {
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
	// endPatience bounds how long a container may take to end: its supervisor saves within two
	// minutes.
	endPatience = 3 * time.Minute
	// lostPatience bounds how long Docker may be away before a container is left to later.
	lostPatience = 2 * time.Second
	lostPoll     = 200 * time.Millisecond
)
