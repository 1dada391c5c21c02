//go:build linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// maxWaiting bounds how many requests may wait for the runner to read.
const maxWaiting = 1024

var (
	errNotReading = errors.New("the machine does not take requests: it has more than it can read")
	errEnded      = &told{protocol.KindConflict, "The machine has ended."}
)

// requests is the pipe to the runner's descriptor 0. It can be held still, so that a checkpoint has
// to the byte what the runner was sent.
type requests struct {
	w, r    *os.File // r stays open here to see how much is unread
	turn    chan struct{}
	waiting atomic.Int32
	ended   chan struct{}

	gate sync.RWMutex // held for reading by who writes, for writing by hold
	rest []byte       // of the frame under way, what is not in the pipe yet; guarded by gate
}

func newRequests() (*requests, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &requests{w: w, r: r, turn: make(chan struct{}, 1), ended: make(chan struct{})}, nil
}

// send writes one frame whole; frames don't mix. A frame that has begun is finished even when ctx
// ends.
func (q *requests) send(ctx context.Context, frame []byte) error {
	return q.sendNoting(ctx, frame, func() {})
}

// sendNoting is send, and calls note when the frame begins: who holds the pipe still finds both the
// frame and the note, or neither.
func (q *requests) sendNoting(ctx context.Context, frame []byte, note func()) error {
	if q.waiting.Add(1) > maxWaiting {
		q.waiting.Add(-1)
		return errNotReading
	}
	defer q.waiting.Add(-1)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return errNotReading
	case <-q.ended:
		return errEnded
	}
	q.begin(frame, note)
	for {
		done, err := q.push()
		if done || err != nil {
			return err
		}
	}
}

func (q *requests) begin(frame []byte, note func()) {
	q.gate.RLock()
	defer q.gate.RUnlock()
	q.rest = frame
	note()
}

// push writes until the frame is in the pipe or the pipe is to be held.
func (q *requests) push() (done bool, err error) {
	q.gate.RLock()
	defer q.gate.RUnlock()
	n, err := q.w.Write(q.rest)
	q.rest = q.rest[n:]
	switch {
	case err == nil:
		q.rest = nil
		return true, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return false, nil
	default:
		return false, errEnded
	}
}

// hold keeps everything from being written until release is called.
func (q *requests) hold() (release func()) {
	_ = q.w.SetWriteDeadline(time.Unix(1, 0))
	q.gate.Lock()
	_ = q.w.SetWriteDeadline(time.Time{})
	return q.gate.Unlock
}

// unsent returns, while held, what is left of a frame that is partly in the pipe. (What is in the
// pipe and unread, gVisor takes into the checkpoint on its own.)
func (q *requests) unsent() []byte { return append([]byte(nil), q.rest...) }

// settle waits, while held, until the runner has read everything, but not longer than patience, and
// says whether it has.
func (q *requests) settle(patience time.Duration) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
		if q.unread() == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// unread returns how many bytes are in the pipe.
func (q *requests) unread() int {
	n := 0
	// Not by Fd, which would make the pipe blocking, for gVisor too.
	conn, err := q.r.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	if err != nil {
		return 0
	}
	return n
}

// close ends every send. Call it once.
func (q *requests) close() {
	close(q.ended)
	q.w.Close()
	q.r.Close()
}
