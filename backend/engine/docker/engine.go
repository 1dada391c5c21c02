package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// apiPatience bounds what Docker does at once.
	apiPatience = 30 * time.Second
	// carryPatience bounds the way of one machine's checkpoints.
	carryPatience = 10 * time.Minute
	// loadPatience bounds the loading of the sandbox image.
	loadPatience = 15 * time.Minute
)

// Engine runs machines in Docker's containers.
type Engine struct {
	cfg     Config
	store   *local.Store
	loading chan struct{}     // full while an image is loaded
	inUse   map[string]bool   // images that machines had since this program started; of who loads
	driver  map[string]string // options for the driver of machines' volumes; tests make small ones
	patient time.Duration     // bounds how long a container may take to end; tests are less patient
	run     string            // value of runLabel
	running sync.WaitGroup
	full    atomic.Int64 // when Docker's disk was found full, in nanoseconds; 0 when something has been written to it since
	spares  spares
	news    news
	// volumes is held, for reading, by who has a volume that no container has yet: others' would be
	// removed.
	volumes sync.RWMutex

	templating sync.Mutex                      // of templates
	templates  map[checkpointPath]templateCopy // those that Docker has

	claims carry.Claims

	mu     sync.Mutex
	daemon *daemon // nil until found
	home   string  // value of homeLabel; empty until read
}

// checkpointPath is the folder of a checkpoint.
type checkpointPath string

var _ machine.Engine = (*Engine)(nil)

// New makes the engine. It touches nothing yet; Check tells whether it can work.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		cfg:       cfg,
		store:     cfg.Store,
		loading:   make(chan struct{}, 1),
		inUse:     map[string]bool{},
		patient:   endPatience,
		run:       rand.Text(),
		templates: map[checkpointPath]templateCopy{},
	}
	e.spares.e = e
	return e
}

// Name is "docker".
func (e *Engine) Name() string { return Name }

// Start brings a machine into memory.
func (e *Engine) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	return e.claims.Start(ctx, e.store, spec, func(parts local.Parts) (machine.Sandbox, error) {
		d, err := e.connect(ctx)
		if err != nil {
			return nil, err
		}
		box, err := e.start(ctx, d, spec, parts)
		if err != nil {
			return nil, err
		}
		return box, nil
	})
}

// start is Start for who has claimed the machine.
func (e *Engine) start(ctx context.Context, d *daemon, spec machine.StartSpec, parts local.Parts) (*Sandbox, error) {
	if err := e.settle(ctx, d, spec.ID); err != nil {
		return nil, err
	}
	// A machine whose folder is gone is a machine that is gone: what is left of it in Docker is not
	// taken over.
	if err := os.MkdirAll(e.store.Machine(spec.ID), 0o700); err != nil {
		return nil, local.Describe(err)
	}
	folder := local.Checkpoints(e.store.Machine(spec.ID))
	s := stay{
		id: spec.ID, name: spec.Name, parts: parts, folder: folder, memory: int64(spec.MemoryMB) << 20,
		start:       link.For(spec).Start,
		authorities: spec.Authorities, connect: spec.Connect,
	}
	if spec.Shared != nil {
		if s.unshared = e.unshared(d, parts, *spec.Shared); s.unshared == "" {
			s.shared = spec.Shared
		}
	}
	if list, err := folder.List(); err != nil {
		return nil, local.Describe(err)
	} else if len(list) > 0 {
		s.start.After = list[len(list)-1].ID
	}
	if spec.Checkpoint == "" {
		return e.startNew(ctx, d, s)
	}
	dir, done, err := e.store.Open(ctx, spec.ID, spec.Checkpoint, parts)
	if err != nil {
		return nil, err
	}
	defer done()
	s.restore = dir
	s.damaged = func() string { return e.store.Damaged(spec.ID, spec.Checkpoint) }
	return e.launch(ctx, d, s)
}

// unshared says why Docker is not given a folder to mount; empty where it is. Docker would follow a
// link.
func (e *Engine) unshared(d *daemon, p local.Parts, f machine.SharedFolder) machine.Unshared {
	switch {
	case d.away():
		return machine.UnsharedAway
	case !p.CanShow():
		return machine.UnsharedOld
	case !local.IsFolder(f.Path):
		return machine.UnsharedGone
	}
	return ""
}

// MayShow says why a machine cannot see a folder of this computer.
func (e *Engine) MayShow(ctx context.Context, id machine.ID, image, checkpoint string) error {
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	if d.away() {
		return &machine.Error{Kind: machine.ErrConflict, Message: "This machine runs in Docker on another computer, where the folders of this one are not. " +
			"Send files to it instead, or make a machine that runs here."}
	}
	return e.store.MayShow(ctx, id, image, checkpoint)
}

// startNew is launch from the template. One that cannot be restored is made again, once.
func (e *Engine) startNew(ctx context.Context, d *daemon, s stay) (*Sandbox, error) {
	for again := false; ; again = true {
		found, err := e.template(ctx, d, s.parts)
		if err != nil {
			return nil, err
		}
		s.damaged = func() string { return e.store.DamagedTemplate(s.parts, found) }
		var box *Sandbox
		if s.template, err = e.templateVolume(ctx, d, s.parts, found); err == nil {
			box, err = e.launch(ctx, d, s)
		}
		if again || !errors.Is(err, machine.ErrCheckpointUnusable) {
			return box, err
		}
		e.cfg.Log.Warn("the template cannot be restored and is made again", "error", err)
		if err := e.store.DiscardTemplate(ctx, s.parts, found); err != nil {
			return nil, err
		}
	}
}

// template returns the folder of the template checkpoint for these parts, making it on first use.
func (e *Engine) template(ctx context.Context, d *daemon, p local.Parts) (string, error) {
	return e.store.Template(ctx, p, func(ctx context.Context, dir string) error {
		box, err := e.launch(ctx, d, stay{id: templateID, name: "template", parts: p, folder: local.Checkpoints(dir), start: protocol.Start{Name: "template"}})
		if err != nil {
			return err
		}
		go func() {
			for range box.Frames() { // no instruction runs in a template
			}
		}()
		if _, err := box.Stop(ctx); err != nil {
			box.Kill()
			<-box.Ended()
			return err
		}
		<-box.Ended()
		return nil
	})
}

// Prepare makes what the first machine would have to wait for: the image in Docker, the template,
// and a container.
func (e *Engine) Prepare(ctx context.Context) error {
	p, err := e.store.Parts("base")
	if err != nil {
		return err
	}
	d, err := e.connect(ctx)
	if err != nil {
		return err
	}
	found, err := e.template(ctx, d, p)
	if err != nil {
		return err
	}
	if _, err = e.templateVolume(ctx, d, p, found); err != nil {
		return err
	}
	image, err := e.ensureImage(ctx, d, p)
	if err == nil {
		e.spares.refill(kind{d, image}, p, usualMemory)
	}
	return err
}

// usualMemory is the limit of most machines, in bytes.
const usualMemory = 2048 << 20

// templateID stands for the machine of a container that makes a template. It is no machine's id.
const templateID machine.ID = "template-"

// Reclaim tells which checkpoint a life of the machine left that is not known; nil for none. It
// waits until its container has ended, and takes over what is in it.
func (e *Engine) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	return e.claims.Reclaim(ctx, e.store, id, life, known, func() error {
		d, err := e.connect(ctx)
		if err != nil {
			return err
		}
		return e.settle(ctx, d, id)
	})
}

// CheckCompatible says why a state from elsewhere cannot be brought into memory here.
func (e *Engine) CheckCompatible(ctx context.Context, image string, needs machine.Needs) error {
	return e.store.CheckCompatible(ctx, image, needs)
}

// Purge removes everything of a machine that is not in memory. What is left of it in a Docker that
// cannot be reached is removed when it can be (Reap): by then no machine owns it.
func (e *Engine) Purge(ctx context.Context, id machine.ID) error {
	if err := local.ValidID(id); err != nil {
		return err
	}
	release, err := e.claims.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	err = e.store.Purge(id, func() error { return nil })
	if d, reachable := e.reached(); err == nil && reachable {
		if err := e.removeLeft(ctx, d, id); err != nil {
			e.cfg.Log.Warn("something of a machine that is gone stays in Docker for now", "machine", id, "error", err)
		}
	}
	return err
}

// Close waits for the machines that are still ending, and removes what was made ahead. It does not
// end machines.
func (e *Engine) Close() error {
	e.spares.close()
	e.running.Wait()
	d, reachable := e.reached()
	if !reachable {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), apiPatience)
	defer cancel()
	e.templating.Lock()
	defer e.templating.Unlock()
	for _, t := range e.templates {
		if err := d.api.VolumeRemove(ctx, t.volume, true); err != nil && !cerrdefs.IsNotFound(err) {
			e.cfg.Log.Warn("a template's copy stays in Docker for now", "error", err)
		}
	}
	return d.api.Close()
}
