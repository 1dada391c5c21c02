package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// session is a sandbox and all that it has said.
type session struct {
	t    *testing.T
	id   machine.ID
	life string
	box  machine.Sandbox
	mute bool          // acknowledge nothing
	done chan struct{} // closed when the frames have ended

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every frame
	said       map[int]*transcript
	background strings.Builder

	next int

	uncollected atomic.Bool  // output is counted, not kept
	written     atomic.Int64 // bytes of it
}

// transcript is what an instruction put out.
type transcript struct {
	frames []machine.Frame
	result *machine.Result
}

func newSession(t *testing.T, id machine.ID, box machine.Sandbox, mute bool) *session {
	s := &session{
		t: t, id: id, box: box, done: make(chan struct{}), changed: make(chan struct{}),
		said: map[int]*transcript{}, mute: mute, next: box.Ready().LastSeq + 1,
	}
	go s.listen()
	return s
}

func (s *session) listen() {
	defer close(s.done)
	for f := range s.box.Frames() {
		s.mu.Lock()
		if f.Type == machine.FrameBackground {
			s.background.Write(f.Item.Text)
		} else {
			tr := s.transcript(f.Seq)
			if s.uncollected.Load() {
				s.written.Add(int64(len(f.Item.Text)))
				f.Item.Text = nil
			}
			tr.frames = append(tr.frames, f)
			if f.Type == machine.FrameResult {
				result := f.Result
				tr.result = &result
			}
		}
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if !s.mute && f.Type != machine.FrameBackground {
			s.box.Ack(f.Seq, f.Index)
		}
	}
}

// transcript must be called with mu held.
func (s *session) transcript(seq int) *transcript {
	if s.said[seq] == nil {
		s.said[seq] = &transcript{}
	}
	return s.said[seq]
}

// end kills what is left of it and waits.
func (s *session) end() {
	s.box.Kill()
	s.awaitEnd()
}

// awaitEnd waits for the end and returns its cause.
func (s *session) awaitEnd() machine.Cause {
	s.t.Helper()
	timeout := time.After(2 * patience)
	for _, c := range []<-chan struct{}{s.done, s.box.Ended()} {
		select {
		case <-c:
		case <-timeout:
			s.t.Fatal("the sandbox does not end")
		}
	}
	return s.box.Cause()
}

// execute queues code and returns its number.
func (s *session) execute(code string) int {
	s.t.Helper()
	seq, err := s.tryExecute(code)
	if err != nil {
		s.t.Fatalf("execute: %v", err)
	}
	return seq
}

// tryExecute is execute for a machine that may have ended.
func (s *session) tryExecute(code string) (int, error) {
	s.mu.Lock()
	seq := s.next
	s.next++
	s.mu.Unlock()
	return seq, s.box.Execute(s.ctx(), seq, dedent(code), nil)
}

// run runs code and returns its result and what it wrote to stdout.
func (s *session) run(code string) (machine.Result, string) {
	s.t.Helper()
	seq := s.execute(code)
	return s.result(seq), s.stdout(seq)
}

// value runs code that must succeed and returns repr() of its last expression.
func (s *session) value(code string) string {
	s.t.Helper()
	r, out := s.run(code)
	if !r.OK {
		s.t.Fatalf("%s\nfailed:\n%s\n%s", dedent(code), r.Error, out)
	}
	if r.Value == nil {
		return ""
	}
	return *r.Value
}

// expect runs code and compares the value.
func (s *session) expect(code, want string) {
	s.t.Helper()
	if got := s.value(code); got != want {
		s.t.Errorf("%s\ngives %s, not %s", dedent(code), got, want)
	}
}

// result waits for an instruction's end.
func (s *session) result(seq int) machine.Result {
	s.t.Helper()
	var r machine.Result
	s.await(fmt.Sprintf("result of instruction %d", seq), func() bool {
		if tr := s.said[seq]; tr != nil && tr.result != nil {
			r = *tr.result
			return true
		}
		return false
	})
	return r
}

// over says whether an instruction has ended; the channel is closed when more has been heard.
func (s *session) over(seq int) (over bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tr := s.said[seq]
	return tr != nil && tr.result != nil, s.changed
}

// awaitOutput waits until an instruction has written text to stdout.
func (s *session) awaitOutput(seq int, text string) {
	s.t.Helper()
	s.await(fmt.Sprintf("%q from instruction %d", text, seq), func() bool { return strings.Contains(s.out(seq, "stdout"), text) })
}

// await waits until cond, which is called with mu held, holds.
func (s *session) await(what string, cond func() bool) {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-s.done:
			s.mu.Lock()
			ok := cond()
			s.mu.Unlock()
			if !ok {
				<-s.box.Ended()
				s.t.Fatalf("waiting for %s: the sandbox ended: %+v", what, s.box.Cause())
			}
			return
		case <-timeout:
			s.t.Fatalf("no %s within %v; heard so far: %s", what, patience, s.summary())
		}
	}
}

func (s *session) summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for seq := range s.said {
		fmt.Fprintf(&b, "%d: %d frames, %.200q; ", seq, len(s.said[seq].frames), s.out(seq, "stdout"))
	}
	return b.String()
}

func (s *session) stdout(seq int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out(seq, "stdout")
}

// out must be called with mu held.
func (s *session) out(seq int, stream string) string {
	var b strings.Builder
	if tr := s.said[seq]; tr != nil {
		for _, f := range tr.frames {
			if f.Type == machine.FrameItem && f.Item.Kind == machine.ItemOutput && f.Item.Stream == stream {
				b.Write(f.Item.Text)
			}
		}
	}
	return b.String()
}

// acks is what a domain would hold of what this session has heard.
func (s *session) acks() []machine.Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	var acks []machine.Ack
	for seq, tr := range s.said {
		acks = append(acks, machine.Ack{Seq: seq, Index: tr.frames[len(tr.frames)-1].Index})
	}
	return acks
}

// frames returns the frames of an instruction.
func (s *session) frames(seq int) []machine.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]machine.Frame(nil), s.transcript(seq).frames...)
}

func (s *session) checkpoint() machine.CheckpointInfo {
	s.t.Helper()
	info, err := s.box.Checkpoint(s.ctx(), nil)
	if err != nil {
		s.t.Fatalf("checkpoint: %v", err)
	}
	return info
}

// stop saves and ends the sandbox.
func (s *session) stop() machine.CheckpointInfo {
	s.t.Helper()
	info, err := s.box.Stop(s.ctx())
	if err != nil {
		s.t.Fatalf("stop: %v", err)
	}
	if cause := s.awaitEnd(); cause.Kind != machine.EndedStopped {
		s.t.Errorf("stopped, but the cause is %+v", cause)
	}
	return info
}

func (s *session) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	s.t.Cleanup(cancel)
	return ctx
}

// dedent takes the indentation of the first line from every line, so that Python can stand in Go.
func dedent(code string) string {
	code = strings.Trim(code, "\n")
	indent := code[:len(code)-len(strings.TrimLeft(code, "\t"))]
	lines := strings.Split(code, "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimPrefix(lines[i], indent), "\t", "    ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
