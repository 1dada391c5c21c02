//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// pidsMax bounds the processes and threads of one sandbox, outside. gVisor itself takes some per thread inside.
	pidsMax = 4096
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
	digests digests

	templates sync.Mutex // held while a template is made
	running   sync.WaitGroup
	spares    spares
}

var _ machine.Engine = (*Engine)(nil)

// New makes the engine. It touches nothing yet; Check tells whether it can work.
func New(cfg Config) *Engine {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{cfg: cfg, digests: digests{file: filepath.Join(cfg.Data, "digests.json"), log: cfg.Log}}
	e.spares.e = e
	return e
}

// Name is "native".
func (e *Engine) Name() string { return Name }

// Start brings a machine into memory.
func (e *Engine) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	if err := validID(spec.ID); err != nil {
		return nil, err
	}
	parts, err := e.parts(spec.Image)
	if err != nil {
		return nil, err
	}
	dir := e.machineDir(spec.ID)
	if err := waitUnlocked(ctx, dir); err != nil {
		return nil, err
	}
	cfg := parts.config(dir)
	if spec.Checkpoint != "" {
		m, err := folder(dir).Load(spec.Checkpoint)
		if err != nil {
			return nil, unusable("The saved state of this machine is missing or damaged. An earlier checkpoint may still work.", err)
		}
		if err := parts.fits(m); err != nil {
			return nil, err
		}
		cfg.Restore = folder(dir).Path(m.ID)
	}
	limit := int64(spec.MemoryMB) << 20
	cfg.MemoryMax = sandbox.HardLimit(limit)
	acked := make([][2]int, len(spec.Acked))
	for i, a := range spec.Acked {
		acked[i] = [2]int{a.Seq, a.Index}
	}
	start := protocol.Start{Name: spec.Name, LimitBytes: limit, Acked: acked, Clone: spec.Clone || spec.Checkpoint == "", Life: spec.Life}
	if spec.Checkpoint == "" {
		return e.launchNew(ctx, parts, cfg, start)
	}
	return e.launch(ctx, cfg, start)
}

// launchNew is launch from the template. One that cannot be restored is made anew, once.
func (e *Engine) launchNew(ctx context.Context, p parts, cfg sandbox.Config, start protocol.Start) (machine.Sandbox, error) {
	for again := false; ; again = true {
		var err error
		if cfg.Restore, err = e.template(ctx, p); err != nil {
			return nil, err
		}
		s, err := e.launch(ctx, cfg, start)
		if again || !errors.Is(err, machine.ErrCheckpointUnusable) {
			return s, err
		}
		e.cfg.Log.Warn("the template cannot be restored and is made anew", "error", err)
		if err := e.discardTemplate(ctx, p, cfg.Restore); err != nil {
			return nil, describe(err)
		}
	}
}

// launch brings a machine into memory: in the sandbox that was made ahead where there is one, else in one of its own.
func (e *Engine) launch(ctx context.Context, cfg sandbox.Config, start protocol.Start) (*link.Sandbox, error) {
	if err := os.MkdirAll(cfg.Machine, 0o700); err != nil {
		return nil, describe(err)
	}
	if cfg.Restore != "" {
		defer e.spares.refill(cfg)
		if p := e.spares.take(cfg); p != nil {
			s, err := e.connect(ctx, p, cfg.Machine, start)
			if err == nil || ctx.Err() != nil {
				e.spares.useless.Store(0)
				return s, err
			}
			e.spares.useless.Add(1)
			// It may be to blame for anything: whether the checkpoint is of use, a sandbox of its own tells.
			e.cfg.Log.Warn("a sandbox that was made ahead is of no use", "machine", filepath.Base(cfg.Machine), "error", err)
			if err := waitUnlocked(ctx, cfg.Machine); err != nil {
				return nil, err
			}
		}
	}
	p, err := e.spawn(cfg)
	if err != nil {
		return nil, err
	}
	return e.connect(ctx, p, cfg.Machine, start)
}

// connect waits until a supervisor has its machine in memory.
func (e *Engine) connect(ctx context.Context, p *supervisor, machineDir string, start protocol.Start) (*link.Sandbox, error) {
	wait := func() {
		defer e.running.Done()
		<-p.ended
		if p.err != nil {
			e.cfg.Log.Warn("supervisor ended", "machine", filepath.Base(machineDir), "error", p.err, "stderr", tailOf(machineDir))
		}
		// One that was killed leaves this to us, and the lock a moment later.
		ctx, cancel := context.WithTimeout(context.Background(), tidyPatience)
		defer cancel()
		err := waitUnlocked(ctx, machineDir)
		if err == nil {
			err = sandbox.Tidy(machineDir)
		}
		if err != nil && !errors.Is(err, sandbox.ErrLocked) {
			e.cfg.Log.Warn("tidying after a supervisor", "machine", filepath.Base(machineDir), "error", err)
		}
	}
	e.running.Add(1)
	return link.Connect(ctx, p.pipes, link.Options{Start: start, Kill: p.kill, Wait: wait})
}

// tailOf reads the end of what a supervisor wrote to its stderr.
func tailOf(machineDir string) string {
	b, err := os.ReadFile(filepath.Join(machineDir, logName))
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-2000):])
}

// waitUnlocked waits until no supervisor holds the machine's folder: one whose daemon has died saves it first.
func waitUnlocked(ctx context.Context, dir string) error {
	for {
		lock, err := sandbox.Lock(dir)
		if err == nil {
			return lock.Close()
		}
		if !errors.Is(err, sandbox.ErrLocked) {
			return describe(err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return &machine.Error{Kind: machine.ErrConflict, Message: "The machine is still being saved by an earlier run of the program. Try again in a moment.", Cause: ctx.Err()}
		}
	}
}

// Close ends what was made ahead and waits for the supervisors that are still ending. It does not end machines.
func (e *Engine) Close() error {
	e.spares.close()
	e.running.Wait()
	return nil
}

func (e *Engine) machineDir(id machine.ID) string {
	return filepath.Join(e.cfg.Data, "machines", string(id))
}

func folder(machineDir string) checkpoint.Folder {
	return checkpoint.Folder(filepath.Join(machineDir, "checkpoints"))
}

// validID keeps anything but an id from becoming part of a path.
func validID(id machine.ID) error {
	if len(id) == 0 || len(id) > 64 {
		return &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("%.80q cannot be the id of a machine.", id)}
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return &machine.Error{Kind: machine.ErrInvalid, Message: fmt.Sprintf("%.80q cannot be the id of a machine.", id)}
		}
	}
	return nil
}

// describe makes a sentence of what the file system refuses.
func describe(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "The disk is full. Free some room and try again.", Cause: err}
	}
	return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("The machine's files cannot be used: %v.", err), Cause: err}
}

func unusable(message string, err error) error {
	return &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: message, Cause: err}
}
