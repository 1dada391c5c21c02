//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// Frames that the runner sends to the supervisor alone.
const (
	typeTemplate = "template" // warmed up: a template can be made of it
	typeHeld     = "held"
	typeDied     = "died"
)

// typeNudge is a request that means nothing and is ignored.
const typeNudge = "nudge"

const (
	// readyPatience bounds how long the runner may take to answer a resume, warming up included.
	readyPatience = 2 * time.Minute
	// dyingPatience is how long after it has said that Python ended the sandbox may take to end.
	dyingPatience = 5 * time.Second
)

// runner is the connection to the runner. What it says is hostile: every frame is bounded, and one
// that breaks the protocol ends the sandbox.
type runner struct {
	in  *requests
	out *os.File // where its frames come from
	box *outbox

	mu      sync.Mutex
	replies map[uint64]chan protocol.Frame
	holds   int           // stops under way, or done
	decided chan struct{} // closed when all of them have failed; nil for no holds
	lastID  uint64
	lastSeq int   // highest instruction given to it, in this life or an earlier one; -1 for none
	given   []int // instructions that it has and that are not over, in order
	running *int  // as its frames tell
	died    string
	dying   chan struct{} // closed when it has said that Python ended

	ready chan protocol.Ready
	sync  string
}

// newRunner makes the pipes. stdin and stdout are the sandbox's ends.
func newRunner(box *outbox) (r *runner, stdin, stdout *os.File, err error) {
	in, err := newRequests()
	if err != nil {
		return nil, nil, nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		in.close()
		return nil, nil, nil, err
	}
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, nil, nil, err
	}
	r = &runner{
		in: in, out: out, box: box,
		replies: map[uint64]chan protocol.Frame{},
		lastSeq: -1,
		dying:   make(chan struct{}),
		ready:   make(chan protocol.Ready, 1),
		sync:    hex.EncodeToString(nonce[:]),
	}
	return r, in.r, stdout, nil
}

// restored tells which is the highest instruction that the runner was given before it was saved.
// Call it before resume.
func (r *runner) restored(lastSeq int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastSeq = lastSeq
}

// resume sends the rest of the request that was under way when the runner was saved, then the
// resume, and returns its ready.
func (r *runner) resume(ctx context.Context, rest []byte, resume protocol.Resume) (protocol.Ready, error) {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	resume.Type, resume.Sync = protocol.TypeResume, r.sync
	frame, err := protocol.Encode(resume, nil)
	if err != nil {
		return protocol.Ready{}, err
	}
	if err := r.in.send(ctx, append(rest, frame...)); err != nil {
		return protocol.Ready{}, err
	}
	select {
	case ready := <-r.ready:
		return ready, nil
	case <-r.in.ended:
		return protocol.Ready{}, errEnded
	case <-ctx.Done():
		return protocol.Ready{}, errors.New("Python does not answer")
	}
}

// listen reads frames until the sandbox's end of the pipe is closed (nil) or the protocol is
// violated.
func (r *runner) listen() error {
	reader := bufio.NewReaderSize(r.out, protocol.ResyncBuffer)
	frame, err := protocol.Resync(reader, r.sync)
	if err == nil {
		err = r.become(frame)
	}
	for err == nil {
		if frame, err = protocol.Read(reader); err == nil {
			err = r.hear(frame)
		}
	}
	if errors.Is(err, protocol.ErrViolation) {
		return err
	}
	return nil // the pipe ended; whether within a frame means nothing more
}

func (r *runner) hear(f protocol.Frame) error {
	switch {
	case protocol.IsNumbered(f.Type):
		n, err := protocol.ParseNumbered(f)
		if err != nil {
			return err
		}
		if err := r.follow(f.Type, n); err != nil {
			return err
		}
		return r.pass(f, false)
	case f.Type == protocol.TypeBackground:
		return r.pass(f, true)
	case f.Type == protocol.TypeReply:
		return r.answer(f)
	case f.Type == typeDied:
		words, err := parseDeath(f)
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.died == "" {
			close(r.dying)
		}
		r.died = words
	case f.Type == typeTemplate, f.Type == typeHeld:
	default: // a ready frame too: there is one for each resume, and become has had it
		return fmt.Errorf("%w: a frame of the type %q", protocol.ErrViolation, f.Type)
	}
	return nil
}

// pass gives a frame to the daemon as it came.
func (r *runner) pass(f protocol.Frame, loose bool) error {
	b, err := protocol.Raw(f.Header, f.Payload)
	if err != nil {
		return err
	}
	r.box.push(b, loose)
	return nil
}

// follow keeps track of what runs.
func (r *runner) follow(typ string, n protocol.Numbered) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.Seq > r.lastSeq {
		return fmt.Errorf("%w: a %q frame of the instruction %d, which it was not given", protocol.ErrViolation, typ, n.Seq)
	}
	switch {
	case typ == protocol.TypeStarted:
		r.running = &n.Seq
	case typ == protocol.TypeResult && r.running != nil && *r.running == n.Seq:
		r.running = nil
	}
	if typ == protocol.TypeResult {
		r.forget(n.Seq)
	}
	return nil
}

// forget notes that the runner has an instruction no more. mu is held.
func (r *runner) forget(seq int) {
	r.given = slices.DeleteFunc(r.given, func(s int) bool { return s == seq })
}

// become takes the one ready frame. Of instructions that the runner was never given it is not
// believed.
func (r *runner) become(f protocol.Frame) error {
	ready, err := protocol.ParseReady(f)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	unknown := func(seq int) bool { return seq > r.lastSeq }
	ready.LastSeq = min(ready.LastSeq, r.lastSeq)
	ready.Queued = slices.DeleteFunc(ready.Queued, unknown)
	if ready.Running != nil && unknown(*ready.Running) {
		ready.Running = nil
	}
	r.running = ready.Running
	r.given = slices.Clone(ready.Queued)
	if ready.Running != nil {
		r.given = slices.Insert(r.given, 0, *ready.Running)
	}
	r.ready <- ready
	return nil
}

// answer gives a reply to who waits for it. One that nobody asked for is ignored.
func (r *runner) answer(f protocol.Frame) error {
	var head struct {
		ID *uint64 `json:"id"`
	}
	if err := f.Decode(&head); err != nil {
		return err
	}
	if head.ID == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting, ok := r.replies[*head.ID]; ok {
		delete(r.replies, *head.ID)
		waiting <- f
	}
	return nil
}

// call sends a request and waits for its reply. What that says is hostile, and says so.
func (r *runner) call(ctx context.Context, q protocol.Request, payload []byte) (protocol.Reply, []byte, error) {
	waiting := make(chan protocol.Frame, 1)
	r.mu.Lock()
	r.lastID++
	q.ID, q.Start = r.lastID, nil
	r.replies[q.ID] = waiting
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.replies, q.ID)
		r.mu.Unlock()
	}()
	if err := r.tell(ctx, q, payload); err != nil {
		return protocol.Reply{}, nil, err
	}
	var f protocol.Frame
	err := error(nil)
	select {
	case f = <-waiting:
	case <-ctx.Done():
		err = errors.New("the machine did not answer in time")
	case <-r.in.ended:
		err = errEnded
	}
	if changesFiles(q.Type) && !r.stays() {
		err = errEnded
	}
	if err != nil {
		return protocol.Reply{}, nil, err
	}
	var reply protocol.Reply
	if err := f.Decode(&reply); err != nil {
		return protocol.Reply{}, nil, errors.New("the machine's answer makes no sense")
	}
	if reply.Kind == protocol.KindBusy {
		reply.Error = "Python is busy in this machine. Ask again when the running step lets go."
		return reply, f.Payload, nil
	}
	reply.Kind = "" // the other kinds are ours to tell
	if reply.Error != "" {
		reply.Error = "The machine answered: " + reply.Error // and what it says must not pass for our words
	}
	return reply, f.Payload, nil
}

func changesFiles(question string) bool {
	switch question {
	case protocol.TypeWriteFile, protocol.TypeRemove, protocol.TypeFolder:
		return true
	}
	return false
}

// hold keeps answers about what was changed from the daemon while a checkpoint is made after which
// the sandbox ends: it may not hold that change, so nobody may rely on it. Each stop has to release
// it when it has failed.
func (r *runner) hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holds++; r.holds == 1 {
		r.decided = make(chan struct{})
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.holds--; r.holds == 0 {
			close(r.decided)
			r.decided = nil
		}
	}
}

// stays waits while the sandbox is being stopped, and says whether it goes on.
func (r *runner) stays() bool {
	for {
		r.mu.Lock()
		decided := r.decided
		r.mu.Unlock()
		if decided == nil {
			return true
		}
		select {
		case <-decided:
		case <-r.in.ended:
			return false
		}
	}
}

// tell sends a request that has no reply.
func (r *runner) tell(ctx context.Context, q protocol.Request, payload []byte) error {
	frame, err := encodeRequest(q, payload)
	if err != nil {
		return err
	}
	return r.in.sendNoting(ctx, frame, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case q.Type == protocol.TypeExecute && q.Seq > r.lastSeq: // a repeat is ignored
			r.lastSeq = q.Seq
			r.given = append(r.given, q.Seq)
		case q.Type == protocol.TypeCancel: // when it has begun all the same, its frames tell
			r.forget(q.Seq)
		}
	})
}

// encodeRequest writes a request with `limit_bytes` null where it takes the limit away.
func encodeRequest(q protocol.Request, payload []byte) ([]byte, error) {
	if q.Type != protocol.TypeLimit {
		return protocol.Encode(q, payload)
	}
	return protocol.Encode(struct {
		Type       string `json:"type"`
		ID         uint64 `json:"id"`
		LimitBytes *int64 `json:"limit_bytes"`
	}{q.Type, q.ID, q.LimitBytes}, nil)
}

// state returns the highest instruction that the runner was given, and the one that runs: one that
// was given and is not over counts, whether it has begun or not.
func (r *runner) state() (lastSeq int, running *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil && len(r.given) > 0 {
		next := r.given[0]
		return r.lastSeq, &next
	}
	return r.lastSeq, r.running
}

// lastWords returns what the runner said of Python's end; empty when it said nothing.
func (r *runner) lastWords() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.died
}
