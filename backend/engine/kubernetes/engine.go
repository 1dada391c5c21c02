package kubernetes

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// carryPatience bounds the way of one machine's checkpoints.
const carryPatience = 10 * time.Minute

// Engine runs machines in the pods of a cluster.
type Engine struct {
	cfg     Config
	store   *local.Store
	claims  carry.Claims
	running sync.WaitGroup
	news    news
	checked checked
	// patience is how long others may take; tests are less patient.
	patience struct{ end, silence, lost time.Duration }

	images Images
	// trial makes what the cluster is asked about: whether it would take that.
	trial func(image string) (*core.PersistentVolumeClaim, *core.Pod, error)

	mu     sync.Mutex
	where  Cluster
	client *client // nil until the kubeconfig has been read

	reaped atomic.Bool // Reap has come to its end, or goes on
}

var _ machine.Engine = (*Engine)(nil)

// New makes the engine. It touches nothing yet; Check tells whether it can work.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	quiet()
	e := &Engine{cfg: cfg, store: cfg.Store, where: cfg.Cluster, images: Images{Store: cfg.Store, Supervisor: cfg.Supervisor, Log: cfg.Log}}
	e.trial = e.machine
	e.patience.end, e.patience.silence, e.patience.lost = endPatience, silencePatience, lostPatience
	return e
}

// Name is the engine's name.
func (e *Engine) Name() string { return e.cfg.Name }

// Where is the cluster that machines come into memory in.
func (e *Engine) Where() Cluster {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.where
}

// Move changes what machines come into memory with from now on. It is not for another namespace:
// what is in this one would not be found.
func (e *Engine) Move(to Cluster) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if to.Kubeconfig != e.where.Kubeconfig || to.Context != e.where.Context || to.Namespace != e.where.Namespace {
		return machine.Conflict("%s is the namespace %q of the context %q. Add the other one under another name.", e.cfg.Name, e.where.Namespace, e.where.Context)
	}
	e.where, e.client = to, nil
	return nil
}

// forget makes the next call read the kubeconfig again: the person may have signed in.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.client = nil
}

// Version tells which version the cluster has, and which processors the image here is for.
func (e *Engine) Version(ctx context.Context) (version, processor string, err error) {
	c, err := e.connect()
	if err != nil {
		return "", "", err
	}
	processor, err = ociimage.Architecture(e.cfg.Supervisor)
	if err != nil {
		return "", "", unavailable("The supervisor program is missing. Install ForeverVM again.", err)
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	body, err := c.api.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", "", e.failed("The cluster could not be asked", err)
	}
	var told struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return "", "", e.failed("The cluster could not be asked", err)
	}
	return clip(told.GitVersion), processor, nil
}

// connect returns the client of the cluster.
func (e *Engine) connect() (*client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == nil {
		c, err := e.where.connect()
		if err != nil {
			return nil, err
		}
		e.client = c
	}
	return e.client, nil
}

// Start brings a machine into memory.
func (e *Engine) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	return e.claims.Start(ctx, e.store, spec, func(parts local.Parts) (machine.Sandbox, error) {
		c, err := e.connect()
		if err != nil {
			return nil, err
		}
		box, err := e.start(ctx, c, spec, parts)
		if err != nil {
			return nil, err
		}
		return box, nil
	})
}

// start is Start for who has claimed the machine.
func (e *Engine) start(ctx context.Context, c *client, spec machine.StartSpec, parts local.Parts) (*Sandbox, error) {
	if err := e.settle(ctx, c, spec.ID); err != nil {
		return nil, err
	}
	// A machine whose folder is gone is a machine that is gone: what is left of it in the cluster
	// is not taken over.
	if err := os.MkdirAll(e.store.Machine(spec.ID), 0o700); err != nil {
		return nil, local.Describe(err)
	}
	image, err := e.image(ctx, parts)
	if err != nil {
		return nil, err
	}
	l := launch{
		stay:   stay{id: spec.ID, name: spec.Name, life: spec.Life, parts: parts, image: image, memory: int64(spec.MemoryMB) << 20},
		folder: local.Checkpoints(e.store.Machine(spec.ID)),
		opts:   link.For(spec),
	}
	if spec.Shared != nil {
		l.opts.Unshared = machine.UnsharedAway
	}
	if list, err := l.folder.List(); err != nil {
		return nil, local.Describe(err)
	} else if len(list) > 0 {
		l.opts.Start.After = list[len(list)-1].ID
	}
	if spec.Checkpoint != "" {
		dir, done, err := e.store.Open(ctx, spec.ID, spec.Checkpoint, parts)
		if err != nil {
			return nil, err
		}
		defer done()
		l.restore = dir
		l.opts.Damaged = func() string { return e.store.Damaged(spec.ID, spec.Checkpoint) }
	}
	return e.launch(ctx, c, l)
}

// MayShow says that no folder of this computer is seen in a cluster.
func (e *Engine) MayShow(context.Context, machine.ID, string, string) error {
	return machine.Invalid("A machine in a cluster (%s) cannot see a folder of this computer. Put files into its inbox instead, or move the machine to this computer.", e.cfg.Name)
}

// Reclaim tells which checkpoint a life of the machine left that is not known; nil for none. It
// waits until its pod has ended, and takes over what is in its volume.
func (e *Engine) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	return e.claims.Reclaim(ctx, e.store, id, life, known, func() error {
		c, err := e.connect()
		if err != nil {
			return err
		}
		return e.settle(ctx, c, id)
	})
}

// CheckCompatible says why a state from elsewhere cannot be brought into memory here.
func (e *Engine) CheckCompatible(ctx context.Context, image string, needs machine.Needs) error {
	return e.store.CheckCompatible(ctx, image, needs)
}

// Purge removes everything of a machine that is not in memory. What is left of it in a cluster that
// does not answer is removed when it does (Reap): by then no machine owns it.
func (e *Engine) Purge(ctx context.Context, id machine.ID) error {
	if err := local.ValidID(id); err != nil {
		return err
	}
	release, err := e.claims.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	if err := e.store.Purge(id, func() error { return nil }); err != nil {
		return err
	}
	c, err := e.connect()
	if err == nil {
		err = e.removeLeft(ctx, c, id)
	}
	if err != nil {
		e.cfg.Log.Warn("something of a machine that is gone stays in the cluster for now", "machine", id, "error", err)
	}
	return nil
}

// Close waits for the machines that are still ending. It does not end machines.
func (e *Engine) Close() error {
	e.running.Wait()
	return nil
}
