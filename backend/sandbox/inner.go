//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// The stages of a supervisor, as the first argument.
const (
	innerStage           = "inner"
	innerStageSharedPIDs = "inner-shared-pids"
	innerStageProbe      = "inner-probe"
)

// supervisor is the inner supervisor: one sandbox and the link to the daemon.
type supervisor struct {
	cfg      Config
	unshared string   // see protocol.Ready
	place    place    // valid once the sandbox is launched
	memory   *os.File // the control group's limit
	link     *daemonLink
	runner   *runner
	way      *wayOut
	runsc    runsc
	pages    pagesFile // what was restored; valid once the sandbox is launched
	box      *outbox
	acks     *acks
	orders   chan order
	placed   chan struct{} // closed when place is valid
	stderr   iox.Tail      // what the sandbox writes to its stderr, for when it fails

	saving       chan struct{} // full while a checkpoint is made
	spare        *time.Timer   // when what older checkpoints have left for the next one goes; of who fills saving
	sandboxEnded chan struct{}
	flushed      chan struct{} // closed when the daemon has every frame that it will get
	end          chan ending   // the first one counts

	life     string          // see checkpoint.Manifest; set before the daemon is answered
	after    string          // see protocol.Start; set before the daemon is answered
	unsynced bool            // see protocol.Start; set before the daemon is answered
	baseline int64           // see checkpoint.Manifest; set before the daemon is answered
	status   unix.WaitStatus // of the sandbox; valid once sandboxEnded is closed
	violated error           // how the runner broke the protocol; valid once sandboxEnded is closed

	mu             sync.Mutex
	lastCheckpoint string // id of the newest one, or of the one restored
	limit          int64  // the machine's own memory limit in bytes; 0 for none
}

// ending is why the sandbox ends.
type ending struct {
	cause      string
	detail     string
	ownLimit   bool // of memory: the machine's, not the computer's
	checkpoint *checkpoint.Manifest
}

// Inner is the inner supervisor, alone in its name spaces. It returns the exit status.
func Inner(stage string, cfg Config) int {
	signal.Ignore(unix.SIGPIPE, unix.SIGHUP, unix.SIGINT)
	// Where we share a container's PID name space, the sandbox must become our child when runsc has
	// started it.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	for fd := claimFD; fd <= memoryFD; fd++ {
		unix.CloseOnExec(fd) // ours, not runsc's
	}
	limitProcesses(cfg)
	unshared, err := buildRoot(cfg, stage == innerStage)
	if err != nil {
		if errors.Is(err, errNoProc) {
			return ExitNoProc
		}
		return failed(err)
	}
	box := newOutbox()
	r, stdin, stdout, err := newRunner(box)
	if err != nil {
		return failed(err)
	}
	way, err := newWayOut()
	if err != nil {
		return failed(err)
	}
	s := &supervisor{
		cfg: cfg, unshared: unshared, memory: os.NewFile(memoryFD, "memory"), runner: r, way: way, box: box, acks: newAcks(),
		orders:       make(chan order, 256),
		placed:       make(chan struct{}),
		saving:       make(chan struct{}, 1),
		sandboxEnded: make(chan struct{}),
		flushed:      make(chan struct{}),
		end:          make(chan ending, 1),
	}
	if err := s.run(stdin, stdout); err != nil {
		return failed(err)
	}
	return exitOK
}

// run keeps the sandbox until it ends, for whatever reason. The error is for where there is no
// daemon to be told.
func (s *supervisor) run(stdin, stdout *os.File) error {
	defer s.runsc.kill()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	opened := make(chan struct{})
	s.background(func() {
		select {
		case <-terminate: // before there is anything to save
			os.Exit(exitOK)
		case <-opened:
		}
	})
	// The sandbox comes into memory while the daemon and we shake hands.
	launched := make(chan error, 1)
	go func() { launched <- s.launch(ctx, stdin, stdout) }()
	if s.cfg.ClaimOnStdin { // until then what comes there is not for us
		select {
		case <-s.placed:
		case err := <-launched:
			if err != nil {
				return err
			}
			launched <- nil
		}
	}
	var err error
	if s.link, err = openLink(); err != nil {
		return fmt.Errorf("wait for the daemon: %w", err)
	}
	started, err := s.readStart()
	if err != nil {
		return err
	}
	close(opened)
	s.background(s.passFrames)
	if err := s.begin(ctx, started, launched); err != nil {
		s.reply(started.ID, failure(err))
		s.farewell(ending{cause: protocol.CauseBroken, detail: err.Error()})
		return nil
	}
	s.background(func() { s.acks.pass(ctx, s.runner) })
	s.background(func() { s.serveOrders(ctx) })
	s.background(func() { s.serveControl(ctx) })
	s.background(func() { s.serveStreams(ctx) })
	s.background(func() { s.way.serve(ctx, s.link.openOutside) })
	s.background(func() { s.watch(ctx) })
	e := s.awaitEnd(terminate)
	s.runsc.kill()
	s.farewell(e)
	return nil
}

// passFrames gives the daemon the runner's frames. One that does not take them is as good as gone:
// the machine is saved, and what the daemon has not acknowledged the runner says again when it
// wakes.
func (s *supervisor) passFrames() {
	defer close(s.flushed)
	if s.box.writeTo(s.link.frames) != nil {
		s.link.session.Close()
	}
}

// background runs f beside the rest. Nothing waits for it at the end: what still runs then may hang
// in a disk, and ends with this process.
func (s *supervisor) background(f func()) { go f() }

// launch brings the sandbox into memory and starts listening to it.
func (s *supervisor) launch(ctx context.Context, stdin, stdout *os.File) error {
	errors, stderr, err := os.Pipe()
	if err != nil {
		return err
	}
	s.background(func() { _, _ = io.Copy(&s.stderr, errors) })
	err = s.bring(ctx, stdio{stdin, stdout, stderr, []*os.File{s.way.r, s.way.w}})
	stdout.Close()
	stderr.Close()
	s.way.launched()
	if err != nil {
		return err
	}
	heard := make(chan error, 1)
	s.background(func() {
		err := s.runner.listen()
		if err != nil {
			s.runsc.kill()
		}
		heard <- err
	})
	s.background(func() {
		select {
		case <-s.runner.dying:
		case <-s.sandboxEnded:
			return
		}
		select {
		case <-time.After(dyingPatience): // it is not so, or the sandbox hangs: it could neither be saved nor end
			s.runsc.kill()
		case <-s.sandboxEnded:
		}
	})
	s.background(func() {
		s.status = s.runsc.wait()
		select {
		case s.violated = <-heard:
		case <-time.After(time.Second):
		}
		s.runner.in.close()
		close(s.sandboxEnded)
	})
	return nil
}

// bring starts the sandbox, or restores it, for the machine that we are told to.
func (s *supervisor) bring(ctx context.Context, pipes stdio) error {
	if s.cfg.Spare != "" {
		if err := s.runsc.create(ctx, pipes); err != nil {
			return err
		}
	}
	var err error
	if s.place, err = awaitPlace(); err != nil {
		return err
	}
	close(s.placed)
	if s.place.restored != "" {
		s.pages = pagesIn(s.place.restored)
		sound := make(chan error, 1)
		go func() { sound <- checkpoint.Check(s.place.restored) }() // beside the restore: nobody hears of it before
		err := s.runsc.restore(ctx, pipes, s.place.restored)
		if damaged := <-sound; damaged != nil {
			return &told{protocol.KindUnusable, fmt.Sprintf("The saved state is damaged: %v.", damaged)}
		}
		return err
	}
	return s.runsc.start(ctx, pipes)
}

// readStart reads the daemon's first request.
func (s *supervisor) readStart() (protocol.Request, error) {
	_ = s.link.control.SetReadDeadline(time.Now().Add(openPatience))
	defer s.link.control.SetReadDeadline(time.Time{})
	f, err := protocol.Read(s.link.control)
	if err != nil {
		return protocol.Request{}, fmt.Errorf("wait for the daemon: %w", err)
	}
	var q protocol.Request
	if err := f.Decode(&q); err != nil {
		return q, err
	}
	if q.Type != protocol.TypeStart || q.Start == nil || q.Start.Version != protocol.Version {
		return q, errors.New("daemon and supervisor are of different versions")
	}
	s.life, s.after, s.unsynced = q.Start.Life, q.Start.After, q.Start.Unsynced
	return q, nil
}

// begin waits for the sandbox, resumes the runner and answers the daemon.
func (s *supervisor) begin(ctx context.Context, q protocol.Request, launched <-chan error) error {
	select {
	case err := <-launched:
		if err != nil {
			return s.describeLaunch(err)
		}
	case <-s.link.gone():
		return errors.New("the daemon ended")
	}
	var rest []byte
	if from := s.place.restored; from != "" {
		m, err := readRestored(from)
		if err != nil {
			return err
		}
		if rest, err = readInput(from); err != nil {
			return err
		}
		s.lastCheckpoint, s.baseline, s.runsc.features = m.ID, m.Baseline, m.Features
		s.runner.restored(m.LastSeq)
		if q.Start.Clone {
			s.lastCheckpoint = "" // of another machine's, or the template's
		}
	}
	var limit *int64
	if n := q.Start.LimitBytes; n > 0 {
		limit = &n
		s.setLimit(n)
	}
	ready, err := s.runner.resume(ctx, rest, protocol.Resume{
		Acked: q.Start.Acked, Reseed: s.place.restored != "", ReseedPython: q.Start.Clone,
		LimitBytes: limit, Env: q.Start.Env, Formats: []string{"png"}, Hostname: q.Start.Name, WayOut: s.way.nonce,
		Rehearse: q.Start.Rehearse,
	})
	if errors.Is(err, errEnded) {
		<-s.sandboxEnded
		s.logEnd()
		if why := s.whyEnded(); why.cause == protocol.CauseDamaged {
			return &told{protocol.KindUnusable, why.detail}
		}
		if s.violated == nil && s.status.Signaled() || shortOfMemory() {
			return errNotNow
		}
		return &told{protocol.KindUnusable, "The machine came into memory and ended at once. " + s.whyEnded().detail}
	}
	if err != nil && shortOfMemory() {
		return errNotNow
	}
	if err != nil {
		return &told{protocol.KindUnusable, fmt.Sprintf("The machine came into memory, but %v.", err)}
	}
	if s.place.restored == "" {
		s.baseline = s.measure().python
	}
	ready.Unshared = s.unshared // whatever the runner says of it
	s.reply(q.ID, success(ready))
	if err := s.place.release(); err != nil {
		fmt.Fprintln(os.Stderr, "supervisor: links to the checkpoint stay:", err)
	}
	return nil
}

func readRestored(from string) (checkpoint.Manifest, error) {
	m, err := checkpoint.LoadAt(from)
	if err != nil {
		return m, &told{protocol.KindUnusable, fmt.Sprintf("The saved state is damaged: %v.", err)}
	}
	return m, nil
}

// readInput reads the rest of the request that was under way when the runner was saved.
func readInput(from string) ([]byte, error) {
	const most = protocol.MaxHeader + protocol.MaxPayload + 1<<20
	f, err := os.Open(filepath.Join(from, checkpoint.InputName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(b) > most {
		err = errors.New("too large")
	}
	if err != nil {
		return nil, &told{protocol.KindUnusable, fmt.Sprintf("The saved state is damaged: %s: %v.", checkpoint.InputName, err)}
	}
	return b, nil
}

// describeLaunch makes a sentence of why the sandbox did not come into memory.
func (s *supervisor) describeLaunch(err error) error {
	var failed *runscError
	var already *told
	switch {
	case errors.As(err, &already):
		return already
	case s.damaged():
		s.logEnd()
		return &told{protocol.KindUnusable, "Its saved state has changed on the disk, which may be failing."}
	case errors.As(err, &failed) && failed.diskFull():
		return &told{protocol.KindDiskFull, "The disk is full, so the machine cannot be brought into memory. Free some room and try again."}
	case s.place.restored != "" && shortOfMemory():
		return errNotNow
	case s.place.restored != "":
		return &told{protocol.KindUnusable, fmt.Sprintf("The saved state cannot be brought back into memory: %v.", err)}
	default:
		s.logSaid()
		return &told{protocol.KindUnavailable, fmt.Sprintf("The sandbox does not start: %v.", err)}
	}
}

// errNotNow is for a machine whose saved state is to blame for nothing.
var errNotNow = &told{protocol.KindUnavailable, "The computer ended the machine while it came into memory, most likely because memory is short. " +
	"Its saved state is untouched. Close programs or stop other machines, and try again."}

// setLimit notes a new memory limit for the watchdog.
func (s *supervisor) setLimit(limit int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
}

func (s *supervisor) memoryLimit() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

func (s *supervisor) measure() usage { return measure(s.runsc.pid, s.pages) }

func (s *supervisor) stats() protocol.Stats {
	u := s.measure()
	return protocol.Stats{MemoryBytes: u.memory, UsedBytes: max(0, u.python-s.baseline), CPUSeconds: u.cpu}
}
