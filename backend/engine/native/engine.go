//go:build linux

package native

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

const (
	// tidyPatience bounds how long a killed supervisor may take to be gone.
	tidyPatience = 10 * time.Second
	// lockPoll is how often a lock that another supervisor holds is tried.
	lockPoll = 20 * time.Millisecond
	// logName is the file in a supervisor's folder that it logs into.
	logName = "supervisor.log"
)

// Engine runs machines as child processes of the daemon, each with a supervisor of its own.
type Engine struct {
	cfg     Config
	store   *local.Store
	running sync.WaitGroup
	spares  spares
}

var _ machine.Engine = (*Engine)(nil)

// New makes the engine. It touches nothing yet; Check tells whether it can work.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, store: cfg.Store}
	e.spares.e = e
	return e
}

// Name is "native".
func (e *Engine) Name() string { return Name }

// Start brings a machine into memory.
func (e *Engine) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	box, err := e.StartBy(ctx, spec, link.Connect)
	if err != nil { // else box would be an interface that holds nil
		return nil, err
	}
	return box, nil
}

// Connector opens the link to a supervisor that has just been started, as link.Connect does. What
// it returns beside the error is only passed on.
type Connector func(ctx context.Context, conn io.ReadWriteCloser, opts link.Options) (*link.Sandbox, error)

// StartBy is Start where somebody else than link.Connect opens the link: an agent has its daemon do
// so. That may be called several times, until one call succeeds.
func (e *Engine) StartBy(ctx context.Context, spec machine.StartSpec, by Connector) (*link.Sandbox, error) {
	if err := local.ValidID(spec.ID); err != nil {
		return nil, err
	}
	defer e.store.Starting()()
	box, err := e.start(ctx, spec, by)
	if errors.Is(err, machine.ErrCheckpointUnusable) && e.store.SetAside(ctx, spec.ID, spec.Checkpoint) {
		box, err = e.start(ctx, spec, by)
	}
	return box, err
}

func (e *Engine) start(ctx context.Context, spec machine.StartSpec, by Connector) (*link.Sandbox, error) {
	parts, err := e.store.PartsFor(ctx, spec.Image, spec.ID, spec.Checkpoint)
	if err != nil {
		return nil, err
	}
	dir := e.store.Machine(spec.ID)
	if err := waitUnlocked(ctx, dir); err != nil {
		return nil, err
	}
	cfg := config(parts, dir)
	if spec.Checkpoint != "" {
		from, done, err := e.store.Open(ctx, spec.ID, spec.Checkpoint, parts)
		if err != nil {
			return nil, err
		}
		defer done()
		cfg.Restore = from
	}
	var unshared machine.Unshared
	if f := spec.Shared; f != nil && parts.CanShow() {
		cfg.Shared, cfg.Writable = f.Path, f.Writable
	} else if f != nil {
		unshared = machine.UnsharedOld
	}
	cfg.MemoryMax = sandbox.HardLimit(int64(spec.MemoryMB) << 20)
	opts := link.For(spec)
	opts.Start.Unsynced = true
	opts.Rush, opts.Unshared = e.store.Rush, unshared
	if spec.Checkpoint == "" {
		return e.launchNew(ctx, parts, cfg, opts, by)
	}
	opts.Damaged = func() string { return e.store.Damaged(spec.ID, spec.Checkpoint) }
	return e.launch(ctx, cfg, opts, by)
}

// MayShow says why a machine cannot see a folder of this computer.
func (e *Engine) MayShow(ctx context.Context, id machine.ID, image, checkpoint string) error {
	return e.store.MayShow(ctx, id, image, checkpoint)
}

// launchNew is launch from the template. One that cannot be restored is made again, once.
func (e *Engine) launchNew(ctx context.Context, p local.Parts, cfg sandbox.Config, opts link.Options, by Connector) (*link.Sandbox, error) {
	for again := false; ; again = true {
		var err error
		if cfg.Restore, err = e.template(ctx, p); err != nil {
			return nil, err
		}
		opts.Damaged = func() string { return e.store.DamagedTemplate(p, cfg.Restore) }
		s, err := e.launch(ctx, cfg, opts, by)
		if again || !errors.Is(err, machine.ErrCheckpointUnusable) {
			return s, err
		}
		e.cfg.Log.Warn("the template cannot be restored and is made again", "error", err)
		if err := e.store.DiscardTemplate(ctx, p, cfg.Restore); err != nil {
			return nil, err
		}
	}
}

// launch brings a machine into memory: in the sandbox that was made ahead where there is one, else
// in one of its own.
func (e *Engine) launch(ctx context.Context, cfg sandbox.Config, opts link.Options, by Connector) (*link.Sandbox, error) {
	if err := os.MkdirAll(cfg.Machine, 0o700); err != nil {
		return nil, local.Describe(err)
	}
	if cfg.Restore != "" {
		e.spares.refillSoon(cfg)
		if sp := e.spares.take(cfg); sp != nil {
			s, err := e.connect(ctx, sp.supervisor, cfg.Machine, opts, by)
			if err == nil || ctx.Err() != nil {
				e.spares.ahead.Worked()
				return s, err
			}
			e.cfg.Log.Warn("a sandbox that was made ahead is of no use", "machine", filepath.Base(cfg.Machine), "error", err, "stderr", tailOf(sp.cfg.Spare))
			e.spares.discard(sp)
			if err := waitUnlocked(ctx, cfg.Machine); err != nil {
				return nil, err
			}
			// The checkpoint may be to blame as well: a sandbox of its own tells.
			if s, err = e.alone(ctx, cfg, opts, by); err == nil {
				e.spares.failed()
			}
			return s, err
		}
	}
	return e.alone(ctx, cfg, opts, by)
}

// alone brings a machine into memory in a sandbox that is made for it. The folder that is shared
// with it is to keep nobody from it.
func (e *Engine) alone(ctx context.Context, cfg sandbox.Config, opts link.Options, by Connector) (*link.Sandbox, error) {
	p, err := e.spawn(cfg)
	if err != nil {
		return nil, err
	}
	s, err := e.connect(ctx, p, cfg.Machine, opts, by)
	if err == nil || cfg.Shared == "" || ctx.Err() != nil {
		return s, err
	}
	e.cfg.Log.Warn("a machine is started once more, without its shared folder", "machine", filepath.Base(cfg.Machine), "error", err)
	if err := waitUnlocked(ctx, cfg.Machine); err != nil {
		return nil, err
	}
	cfg.Shared, cfg.Writable, opts.Unshared = "", false, machine.UnsharedRefused
	return e.alone(ctx, cfg, opts, by)
}

// connect waits until a supervisor has its machine in memory.
func (e *Engine) connect(ctx context.Context, p *supervisor, machineDir string, opts link.Options, by Connector) (*link.Sandbox, error) {
	wait := func() {
		defer e.running.Done()
		<-p.ended
		if p.err != nil {
			e.cfg.Log.Warn("supervisor ended", "machine", filepath.Base(machineDir), "error", p.err, "stderr", tailOf(machineDir))
		}
		// One that was killed leaves this to us, and the lock a moment later.
		ctx, cancel := context.WithTimeout(context.Background(), tidyPatience)
		defer cancel()
		if err := tidy(ctx, machineDir); err != nil {
			e.cfg.Log.Warn("tidying after a supervisor", "machine", filepath.Base(machineDir), "error", err)
		}
	}
	e.running.Add(1)
	opts.Kill, opts.Wait = p.kill, wait
	return by(ctx, p.pipes, opts)
}

// tailOf reads the end of what a supervisor wrote to its stderr.
func tailOf(machineDir string) string {
	b, err := os.ReadFile(filepath.Join(machineDir, logName))
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-2000):])
}

// waitUnlocked waits until no supervisor holds the machine's folder: one whose daemon has died
// saves it first.
func waitUnlocked(ctx context.Context, dir string) error {
	for {
		lock, err := sandbox.Lock(dir)
		if err == nil {
			return lock.Close()
		}
		if !errors.Is(err, sandbox.ErrLocked) {
			return local.Describe(err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is still being saved by an earlier run of the program. Try again in a moment.", Cause: ctx.Err()}
		}
	}
}

// Close ends what was made ahead and waits for the supervisors that are still ending. It does not
// end machines.
func (e *Engine) Close() error {
	e.spares.close()
	e.running.Wait()
	return nil
}

// config is what a supervisor is told of the parts of its sandbox.
func config(p local.Parts, machineDir string) sandbox.Config {
	return sandbox.Config{
		Runsc: p.Runsc, RuntimeDigest: p.RuntimeDigest, Image: p.Image, ImageDigest: p.ImageDigest,
		Machine: machineDir, PidsMax: sandbox.PidsMax,
	}
}
