//go:build linux

package native

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/sandbox"
)

// A start that follows on another needs its sandbox soon. After a single one the next sandbox is
// made when the first result is most likely there: the making takes processors from it (measured on
// two processors, single starts and twenty one after another).
const (
	inARow         = time.Second
	refillAfter    = 200 * time.Millisecond // of the start's begin
	refillAfterRow = 50 * time.Millisecond
)

// scarce is how little memory, in bytes, the computer has left for other than what waits: machines
// are swapped out for it.
const scarce = 512 << 20

// spares keeps one sandbox that was made ahead, for the next machine that comes into memory.
type spares struct {
	e     *Engine
	ahead local.Ahead

	mu     sync.Mutex // guards what follows
	last   time.Time  // a start began
	next   *spare     // nil for none
	retire *time.Timer
	swept  bool
	closed bool
}

// spare is a supervisor that waits to be claimed.
type spare struct {
	*supervisor
	cfg   sandbox.Config
	claim *os.File // where it is told for whom it is
}

// take returns a spare that brings into memory what cfg says; nil where there is none. A sandbox
// gets to see a shared folder when it is made, so a spare is of no use for that.
func (s *spares) take(cfg sandbox.Config) *spare {
	if cfg.Shared != "" {
		return nil
	}
	s.mu.Lock()
	next := s.next
	if next == nil || next.cfg != spareOf(cfg, next.cfg.Spare) {
		s.mu.Unlock()
		return nil
	}
	s.next = nil
	s.mu.Unlock()
	err := json.NewEncoder(next.claim).Encode(sandbox.Claim{Machine: cfg.Machine, Restore: cfg.Restore, MemoryMax: cfg.MemoryMax})
	if err = errors.Join(err, next.claim.Close()); err != nil { // it has ended
		s.discard(next)
		return nil
	}
	return next
}

// spareOf is cfg without what a spare learns when it is claimed.
func spareOf(cfg sandbox.Config, folder string) sandbox.Config {
	cfg.Machine, cfg.Restore, cfg.MemoryMax, cfg.Shared, cfg.Writable = "", "", 0, "", false
	cfg.Spare = folder
	return cfg
}

// refillSoon has refill called after a start that begins now.
func (s *spares) refillSoon(cfg sandbox.Config) {
	s.mu.Lock()
	after := refillAfter
	if time.Since(s.last) < inARow {
		after = refillAfterRow
	}
	s.last = time.Now()
	s.mu.Unlock()
	time.AfterFunc(after, func() { s.refill(cfg) })
}

// refill makes a spare like cfg, unless there is one or memory is short, and puts off its end.
func (s *spares) refill(cfg sandbox.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.ahead.Useful() {
		return
	}
	if _, available := sandbox.HostMemory(); available >= 0 && available < scarce {
		s.dropLocked()
		return
	}
	if s.retire != nil {
		s.retire.Stop()
	}
	s.retire = time.AfterFunc(local.KeepAhead, s.drop)
	if s.next != nil && s.next.cfg == spareOf(cfg, s.next.cfg.Spare) {
		return
	}
	s.dropLocked()
	made, err := s.make(cfg)
	if err != nil {
		s.e.cfg.Log.Warn("no sandbox can be made ahead", "error", err)
		return
	}
	s.next = made
}

// make starts a spare. mu is held.
func (s *spares) make(cfg sandbox.Config) (*spare, error) {
	root := filepath.Join(s.e.store.Config().Data, "spares")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if !s.swept {
		sweep(root)
		s.swept = true
	}
	folder, err := os.MkdirTemp(root, "")
	if err != nil {
		return nil, err
	}
	theirs, claim, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, os.Remove(folder))
	}
	defer theirs.Close()
	made := &spare{cfg: spareOf(cfg, folder), claim: claim}
	if made.supervisor, err = s.e.spawn(made.cfg, theirs); err != nil {
		return nil, errors.Join(err, claim.Close(), os.RemoveAll(folder))
	}
	return made, nil
}

// sweep removes what spares left that were killed together with their daemon.
func sweep(root string) {
	entries, _ := os.ReadDir(root)
	for _, entry := range entries {
		folder := filepath.Join(root, entry.Name())
		if sandbox.Tidy(folder) == nil {
			_ = os.RemoveAll(folder)
		}
	}
}

// drop ends the spare that nobody wants.
func (s *spares) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked()
}

func (s *spares) dropLocked() {
	if s.next == nil {
		return
	}
	s.next.claim.Close()
	s.discard(s.next)
	s.next = nil
}

// failed notes that a spare was of no use where a sandbox made for the machine was.
func (s *spares) failed() {
	if !s.ahead.Failed() {
		s.e.cfg.Log.Warn("no more sandboxes are made ahead: those that were did not work here")
		s.drop()
	}
}

// discard ends a spare, and removes what it leaves once it is gone.
func (s *spares) discard(sp *spare) {
	sp.pipes.Close()
	sp.kill()
	s.e.running.Go(func() {
		<-sp.ended
		if err := sandbox.Tidy(sp.cfg.Spare); err == nil {
			_ = os.RemoveAll(sp.cfg.Spare)
		}
	})
}

func (s *spares) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.retire != nil {
		s.retire.Stop()
	}
	s.dropLocked()
}
