package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Dialer opens a new pipe to a place, which ends with Close. ctx bounds the opening alone. The
// error is a sentence for a person. One that is an io.Closer is closed with the place.
type Dialer interface {
	Dial(ctx context.Context) (io.ReadWriteCloser, error)
}

// Explainer is a pipe that may know why no agent answers at its other end.
type Explainer interface {
	// Why is called once, after Close, where the pipe ended or was given up before an agent's
	// greeting came. It may wait some seconds until the reason is known, and returns it as a
	// sentence for a person; nil where there is none to tell.
	Why() error
}

// Config says what a place is.
type Config struct {
	Name   string // of the engine, such as "ssh:big-computer"
	Owner  string // names this daemon's home: 32 hexadecimal digits
	Dialer Dialer
	// Patience bounds how long it may take to open a pipe; 0 for half a minute. What is dialled may
	// have to start first.
	Patience time.Duration
	// Idle is after how long the pipe is closed when nothing is asked for and no machine is in
	// memory there; 0 for never.
	Idle time.Duration
	// Costly says that the other end only runs while it is needed. Then a pipe is opened for a
	// person's wish alone: not to see whether all is well there, and not to clear away.
	Costly bool
}

// Place is a place's engine, and its store of checkpoints. It has one pipe at a time, opened when
// something is wanted from there.
type Place struct {
	cfg     Config
	running sync.WaitGroup // what goes on while machines live

	dialing chan struct{}   // full while a pipe is opened
	whole   context.Context // ends with Close
	stop    context.CancelFunc
	mu      sync.Mutex
	current *connection // nil for none; may be lost
	closed  bool
	failed  error // of the last dial; nil for none
	tried   time.Time
	users   int       // machines in memory, and what is asked for
	used    time.Time // when the last of them ended
}

var (
	_ machine.Engine      = (*Place)(nil)
	_ machine.Checkpoints = (*Place)(nil)
)

// New makes the place. It opens nothing yet.
func New(cfg Config) *Place {
	p := &Place{cfg: cfg, dialing: make(chan struct{}, 1)}
	p.whole, p.stop = context.WithCancel(context.Background())
	return p
}

// Name is the engine's name.
func (p *Place) Name() string { return p.cfg.Name }

// connection is the pipe to the place, opened where there is none.
func (p *Place) connection(ctx context.Context) (*connection, error) {
	select {
	case p.dialing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.dialing }()
	p.mu.Lock()
	current, closed, failed := p.current, p.closed, p.failed
	again := time.Since(p.tried) >= dialAgain
	p.mu.Unlock()
	switch {
	case closed:
		return nil, machine.Closing()
	case current != nil && !current.lost():
		return current, nil
	case failed != nil && !again:
		return nil, failed
	}
	c, err := p.dial(ctx)
	p.mu.Lock()
	if ctx.Err() == nil {
		p.failed, p.tried = err, time.Now()
	}
	if closed = p.closed; err == nil && !closed {
		p.current, p.used = c, time.Now()
		if p.cfg.Idle > 0 {
			p.running.Go(func() { p.closeIdle(c) })
		}
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case closed:
		c.close()
		return nil, machine.Closing()
	}
	return c, nil
}

// untouched says whether nothing runs there for us, and why the last pipe could not be opened; nil
// where it could, or none was.
func (p *Place) untouched() (yes bool, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cfg.Costly && (p.current == nil || p.current.lost()), p.failed
}

// Resting is machine.Rester's.
func (p *Place) Resting() bool {
	untouched, _ := p.untouched()
	return untouched
}

// use says that somebody needs the pipe until done is called.
func (p *Place) use() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.users--
		p.used = time.Now()
	}
}

// closeIdle closes a pipe that nobody has needed for long.
func (p *Place) closeIdle(c *connection) {
	for {
		p.mu.Lock()
		left := p.cfg.Idle
		if p.users == 0 {
			left -= time.Since(p.used)
		}
		if left <= 0 && p.current == c {
			p.current = nil // nobody gets it any more
		}
		p.mu.Unlock()
		if left <= 0 {
			c.close()
			return
		}
		select {
		case <-c.session.CloseChan():
			return
		case <-time.After(left):
		}
	}
}

// dial opens a pipe, and greets the agent.
func (p *Place) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.whole, cancel)()
	soon, done := context.WithTimeout(ctx, cmp.Or(p.cfg.Patience, dialPatience))
	defer done()
	pipe, err := p.cfg.Dialer.Dial(soon)
	if err != nil {
		return nil, err
	}
	return connect(ctx, pipe, p.cfg.Owner)
}

// over does something over the pipe, and once more over a new one where the pipe broke meanwhile
// and it may be done again.
func (p *Place) over(ctx context.Context, again bool, do func(*connection) error) error {
	for ; ; again = false {
		c, err := p.connection(ctx)
		if err != nil {
			return err
		}
		if err = do(c); !again || !c.broke(ctx, err) {
			return err
		}
	}
}

// Reset closes the pipe. The agent saves its machines and ends. The next call dials again.
func (p *Place) Reset() {
	p.mu.Lock()
	current := p.current
	p.failed, p.current = nil, nil
	p.mu.Unlock()
	if current != nil {
		current.close()
	}
}

// Close closes the pipe for good. The agent saves its machines. Close waits until all sandboxes
// have ended here.
func (p *Place) Close() error {
	p.stop()
	p.mu.Lock()
	p.closed = true
	current := p.current
	p.mu.Unlock()
	if current != nil {
		current.close()
	}
	p.running.Wait()
	if dialer, ok := p.cfg.Dialer.(io.Closer); ok {
		return dialer.Close()
	}
	return nil
}

// call asks the agent something and returns the one answer, and the pipe that it came over. It asks
// again where the pipe breaks: all but a copy may be asked for twice.
func (p *Place) call(ctx context.Context, q ask) (c *connection, a answer, err error) {
	patience, again := p.cfg.Patience+quickly, q.Type != askCopy
	switch q.Type {
	case askUsed, askMemory, askCheck, askCollect: // nobody's wish
		again = !p.cfg.Costly
	default:
		defer p.use()()
	}
	switch q.Type {
	case askReclaim, askCopy, askSeal, askCompact, askCollect:
		patience = p.cfg.Patience + slowly
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = p.over(ctx, again, func(pipe *connection) (err error) {
		c = pipe
		a, err = c.call(ctx, q)
		return err
	})
	return c, a, err
}

// Reclaim is machine.Engine's.
func (p *Place) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	c, a, err := p.call(ctx, ask{Type: askReclaim, Machine: id, Life: life, Known: known})
	if err != nil || a.Checkpoint == nil {
		return nil, err
	}
	info, err := a.Checkpoint.info()
	if _, err = checked(ctx, c, info, err); err != nil {
		return nil, err
	}
	return &info, nil
}

// Purge is machine.Engine's.
func (p *Place) Purge(ctx context.Context, id machine.ID) error {
	_, _, err := p.call(ctx, ask{Type: askPurge, Machine: id})
	return err
}

// MayShow says that no folder of this computer is seen there.
func (p *Place) MayShow(context.Context, machine.ID, string, string) error {
	return machine.Invalid("A machine at this place (%s) cannot see a folder of this computer. Put files into its inbox instead, or run the machine in Docker or, on Linux, without it.", p.cfg.Name)
}

// CheckCompatible is machine.Engine's.
func (p *Place) CheckCompatible(ctx context.Context, image string, n machine.Needs) error {
	given := needsOf(n)
	_, _, err := p.call(ctx, ask{Type: askFits, Image: image, Needs: &given})
	return err
}

// StartUp is machine.Starter's: who asks has mended what was wrong, and is not told of it again.
func (p *Place) StartUp(ctx context.Context) error {
	p.mu.Lock()
	p.failed = nil
	p.mu.Unlock()
	if !p.cfg.Costly {
		return nil // Check opens the pipe
	}
	_, err := p.connection(ctx)
	return err
}

// Check says what is wrong with the place. One that cannot be reached is wrong, too.
func (p *Place) Check(ctx context.Context) []machine.Problem {
	var a answer
	untouched, err := p.untouched()
	if !untouched {
		_, a, err = p.call(ctx, ask{Type: askCheck})
	}
	var told *machine.Error
	switch {
	case errors.As(err, &told):
		return []machine.Problem{{What: told.Message}}
	case err != nil:
		return []machine.Problem{{What: "This place did not answer.", Do: "Try again in a moment."}}
	}
	return a.problems()
}

// Copy is machine.Checkpoints'.
func (p *Place) Copy(ctx context.Context, from machine.ID, checkpoint string, to machine.ID) (machine.CheckpointInfo, error) {
	c, a, err := p.call(ctx, ask{Type: askCopy, Machine: from, Checkpoint: checkpoint, To: to})
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	info, err := a.Checkpoint.info()
	return checked(ctx, c, info, err)
}

// Persist is machine.Checkpoints'.
func (p *Place) Persist(ctx context.Context, id machine.ID, checkpoint string, awaited bool) error {
	_, _, err := p.call(ctx, ask{Type: askPersist, Machine: id, Checkpoint: checkpoint, Awaited: awaited})
	return err
}

// Seal is machine.Checkpoints'.
func (p *Place) Seal(ctx context.Context, id machine.ID, checkpoint string) error {
	_, _, err := p.call(ctx, ask{Type: askSeal, Machine: id, Checkpoint: checkpoint})
	return err
}

// Compact is machine.Checkpoints'.
func (p *Place) Compact(ctx context.Context, id machine.ID, checkpoint string) (int64, error) {
	c, a, err := p.call(ctx, ask{Type: askCompact, Machine: id, Checkpoint: checkpoint})
	if err != nil {
		return 0, err
	}
	n, err := a.bytes()
	return checked(ctx, c, n, err)
}

// Collect is machine.Checkpoints'.
func (p *Place) Collect(ctx context.Context) error {
	if p.Resting() {
		return nil // the next deletion there is followed by another try
	}
	_, _, err := p.call(ctx, ask{Type: askCollect})
	return err
}

// Used is machine.Checkpoints'.
func (p *Place) Used() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	c, a, err := p.call(ctx, ask{Type: askUsed})
	if err != nil {
		return 0, err
	}
	n, err := a.bytes()
	return checked(ctx, c, n, err)
}

// Memory is machine.Sized's.
func (p *Place) Memory(ctx context.Context) (free, total int64, err error) {
	c, a, err := p.call(ctx, ask{Type: askMemory})
	if err == nil && (a.Total <= 0 || a.Bytes < 0 || a.Bytes > a.Total) {
		_, err = checked(ctx, c, a, errLies)
	}
	return a.Bytes, a.Total, err
}

// Delete is machine.Checkpoints'.
func (p *Place) Delete(ctx context.Context, id machine.ID, checkpoint string) error {
	_, _, err := p.call(ctx, ask{Type: askDelete, Machine: id, Checkpoint: checkpoint})
	return err
}
