//go:build linux || darwin

// Package vm runs the virtual machine in which a computer has its machines that runs no Linux, or
// that wants one more wall: one for each daemon's home. Its guest (backend/cmd/guest, build/guest)
// starts the agent of such a place (package remote) when the daemon dials.
//
// A VM is started by the first Dial, and ends in order when no pipe has led to it for a while. It
// outlives its daemon, as that may come again at once: the next one takes it over, and where none
// comes, the guest turns its power off. Its death is to its machines what a power cut is.
//
// The guest has no network. The daemon reaches it by two streams of bytes, one for orders (package
// control) and one for the agent; machines reach the network through the daemon alone.
package vm

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/engine/remote/vm/control"
	"github.com/forevervm/desktop/backend/machine"
)

// Patience is what remote.Config.Patience should be for a VM: it may have to start, on a computer
// that is busy.
const Patience = 3 * time.Minute

const (
	// answerPatience bounds how long a guest may take to answer before it counts as hung.
	answerPatience = time.Minute
	// firstAnswer is how long a guest that was asked how it is may take until it is asked again.
	firstAnswer = 500 * time.Millisecond
	// bootPatience is the same for one that starts.
	bootPatience = 5 * time.Minute
	// stopPatience bounds how long a guest may take to save its machines and end.
	stopPatience = 4 * time.Minute
	// askEvery is how often a guest is asked how it is, and told the time.
	askEvery = 10 * time.Second
	// tryAgain is how often something is tried that is not there yet.
	tryAgain = 20 * time.Millisecond
	// hangUpPatience is how long a hypervisor may take to end after it has hung up.
	hangUpPatience = 5 * time.Second
)

// Config says what a VM is.
type Config struct {
	// Folder is where its disks, sockets and log lie. It is made if need be, and is the daemon's
	// alone.
	Folder string
	// Sockets is where the sockets lie, a folder that is there and the daemon's alone; Folder where
	// it is empty. vfkit takes no path that a URL would have to escape.
	Sockets           string
	Kernel, Initramfs string // files of build/guest
	Parts             Parts
	// Digest tells the SHA-256 of a file, in hexadecimal, as local.Store does.
	Digest     func(path string) (string, error)
	Hypervisor Hypervisor
	// Limits are asked before each start: how much memory it takes at most, and how large its data
	// disk is, which takes as much of the computer's disk as there is on it. A data disk is never
	// made smaller.
	Limits     func() (memoryMB int, diskBytes int64)
	Processors int
	// Linger is how long it goes on when no pipe leads to it any more, and Alone how long without a
	// daemon, in whole seconds.
	Linger, Alone time.Duration
	Log           *slog.Logger
}

// VM is a remote.Dialer.
type VM struct {
	cfg     Config
	running sync.WaitGroup

	turn chan struct{} // full while something is started, dialled or stopped
	held *flock.Flock  // this daemon's, while it may have a guest; guarded by turn

	mu      sync.Mutex
	current *guest // the last one; nil before the first
	pipes   map[*pipe]struct{}
	quiet   time.Time // since when there is none of them
	closed  bool
}

// New makes a VM. It starts nothing yet.
func New(cfg Config) *VM {
	return &VM{cfg: cfg, turn: make(chan struct{}, 1), pipes: map[*pipe]struct{}{}}
}

func (v *VM) path(name string) string { return filepath.Join(v.cfg.Folder, name) }

func (v *VM) socket(name string) string {
	return filepath.Join(cmp.Or(v.cfg.Sockets, v.cfg.Folder), name)
}

// Running says whether a guest runs.
func (v *VM) Running() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current != nil && !v.current.gone()
}

// Dial opens a pipe to a new agent. It starts a guest where none runs.
func (v *VM) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	select {
	case v.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-v.turn }()
	v.mu.Lock()
	closed := v.closed
	v.mu.Unlock()
	if closed {
		return nil, machine.Closing()
	}
	for again := false; ; again = true {
		if ctx.Err() != nil { // before a start that nobody waits for
			return nil, ctx.Err()
		}
		g, err := v.up(ctx)
		var p *pipe
		if err == nil {
			p, err = v.pipe(ctx, g)
		}
		if err == nil {
			return p, nil
		}
		if again || g == nil || !g.dies(ctx) {
			return nil, v.explain(ctx, err)
		}
	}
}

// explain makes a sentence of why there is no pipe.
func (v *VM) explain(ctx context.Context, err error) error {
	var told *machine.Error
	switch {
	case errors.As(err, &told):
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "The virtual machine takes long to start, as this computer is busy. Try again in a moment.", Cause: err}
	}
	return &machine.Error{
		Kind:    machine.ErrUnavailable,
		Message: fmt.Sprintf("The virtual machine cannot be used: %v. What it and %s have said is in %s.", err, v.cfg.Hypervisor.Name, v.cfg.Folder), Cause: err,
	}
}

// up returns a guest that is ready; with an error, one that may become so, or nil.
func (v *VM) up(ctx context.Context) (*guest, error) {
	if err := v.hold(); err != nil {
		return nil, err
	}
	v.mu.Lock()
	g := v.current
	v.mu.Unlock()
	if g == nil || g.gone() {
		var err error
		if g, err = v.find(); err != nil {
			return nil, err
		}
		v.mu.Lock()
		v.current, v.quiet = g, time.Now()
		v.mu.Unlock()
		v.running.Go(func() { v.watch(g) })
		v.running.Go(func() { _ = g.await(context.Background()) }) // also when who dials gives up
	}
	return g, g.await(ctx)
}

// hold keeps other daemons from the folder.
func (v *VM) hold() error {
	if v.held != nil {
		return nil
	}
	if err := os.MkdirAll(v.cfg.Folder, 0o700); err != nil {
		return err
	}
	held := flock.New(v.path("lock"))
	ok, err := held.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return &machine.Error{Kind: machine.ErrConflict, Message: "Another daemon of ForeverVM uses the virtual machine. End it, and try again."}
	}
	v.held = held
	return nil
}

// pipe opens a pipe to a new agent in a guest.
func (v *VM) pipe(ctx context.Context, g *guest) (*pipe, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", v.socket(agentSocket))
	if err != nil {
		return nil, err
	}
	p := &pipe{Conn: conn, from: bufio.NewReader(conn), mark: "forevervm-agent-" + rand.Text()}
	p.end = func() { v.ended(p) }
	v.mu.Lock()
	v.pipes[p] = struct{}{}
	v.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	marked := make(chan error, 1)
	go func() { marked <- p.awaitMark() }() // what an earlier agent has left comes first, and has to be taken
	r, err := g.ask(ctx, control.Order{Type: control.Agent, Mark: p.mark})
	if err == nil && r.Failed != "" {
		err = failed(r)
	}
	if err != nil {
		conn.Close() // which ends the wait for the mark
	}
	if noMark := <-marked; err == nil {
		err = noMark
	}
	if err != nil {
		conn.Close()
		p.once.Do(p.end)
		return nil, err
	}
	return p, nil
}

// pipe is one to an agent.
type pipe struct {
	net.Conn
	from *bufio.Reader
	mark string
	once sync.Once
	end  func()
}

// mostLeft bounds how many bytes of an earlier agent may come before the mark.
const mostLeft = 64 << 20

// awaitMark reads up to the mark.
func (p *pipe) awaitMark() error {
	want, matched := p.mark+"\n", 0
	for range mostLeft {
		b, err := p.from.ReadByte()
		if err != nil {
			return err
		}
		switch b {
		case want[matched]:
			if matched++; matched == len(want) {
				return nil
			}
		case want[0]: // which is in it once
			matched = 1
		default:
			matched = 0
		}
	}
	return errors.New("it does not start its agent")
}

// Read reads what the agent says.
func (p *pipe) Read(b []byte) (int, error) { return p.from.Read(b) }

// Close hangs up.
func (p *pipe) Close() error {
	err := p.Conn.Close()
	p.once.Do(p.end)
	return err
}

// ended notes that a pipe is closed. After the last one, the guest goes on for a while.
func (v *VM) ended(p *pipe) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pipes, p)
	v.quiet = time.Now()
}

// unused is how long the guest may still go on if nothing changes.
func (v *VM) unused() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.pipes) > 0 {
		return v.cfg.Linger
	}
	return v.cfg.Linger - time.Since(v.quiet)
}

// told takes note of what a guest says of its own accord.
func (v *VM) told(r control.Report) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.pipes {
		if r.Ended != "" && p.mark == r.Ended {
			p.Conn.Close() // a serial port does not tell that its other end is closed
		}
	}
}

// Close ends the guest, which saves its machines, and waits for its end. Pipes are closed before.
func (v *VM) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.turn <- struct{}{} // who dials may just be starting one
	defer func() { <-v.turn }()
	v.mu.Lock()
	g := v.current
	v.mu.Unlock()
	if g != nil {
		g.stop()
	}
	v.running.Wait()
	if v.held == nil {
		return nil
	}
	return v.held.Unlock()
}
