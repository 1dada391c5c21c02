package enginetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// NewID makes an id for a machine and purges it after the test.
func NewID(t testing.TB, e machine.Engine) machine.ID {
	t.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	id := machine.ID(hex.EncodeToString(b[:]))
	t.Cleanup(func() {
		if err := e.Purge(context.Background(), id); err != nil {
			t.Errorf("purge: %v", err)
		}
	})
	return id
}

// InMemory is a machine in memory, for an engine's own tests.
type InMemory struct {
	t    testing.TB
	ID   machine.ID
	Life string // of this stay
	machine.Sandbox
	next int

	mu      sync.Mutex
	results map[int]machine.Result
	changed chan struct{} // closed and replaced at every result
}

// Bounded is a context for what should be quick.
func Bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Start brings a machine into memory: from the template where checkpoint is empty.
func Start(t testing.TB, e machine.Engine, id machine.ID, checkpoint string) *InMemory {
	t.Helper()
	return StartNamed(t, e, id, CalmHeron, checkpoint)
}

// CalmHeron is the name of machines whose name does not matter.
const CalmHeron = "calm-heron-7"

// StartNamed is Start for a machine with a name of its own.
func StartNamed(t testing.TB, e machine.Engine, id machine.ID, name, checkpoint string) *InMemory {
	t.Helper()
	r, err := TryStartNamed(t, e, id, name, checkpoint)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return r
}

// TryStart is Start that may fail.
func TryStart(t testing.TB, e machine.Engine, id machine.ID, checkpoint string) (*InMemory, error) {
	t.Helper()
	return TryStartNamed(t, e, id, CalmHeron, checkpoint)
}

// TryStartNamed is StartNamed that may fail.
func TryStartNamed(t testing.TB, e machine.Engine, id machine.ID, name, checkpoint string) (*InMemory, error) {
	t.Helper()
	r := &InMemory{t: t, ID: id, Life: rand.Text(), results: map[int]machine.Result{}, changed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	r.Sandbox, err = e.Start(ctx, machine.StartSpec{ID: id, Name: name, Image: "base", MemoryMB: 512, Checkpoint: checkpoint, Life: r.Life})
	if err != nil {
		return nil, err
	}
	r.next = r.Ready().LastSeq + 1
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for f := range r.Frames() {
			if f.Type != machine.FrameBackground {
				r.Ack(f.Seq, f.Index)
			}
			if f.Type == machine.FrameResult {
				r.mu.Lock()
				r.results[f.Seq] = f.Result
				close(r.changed)
				r.changed = make(chan struct{})
				r.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		r.Kill()
		<-heard
		<-r.Ended()
	})
	return r, nil
}

// Value runs code that must succeed and returns repr() of its last expression.
func (r *InMemory) Value(code string) string {
	r.t.Helper()
	seq := r.next
	r.next++
	if err := r.Execute(Bounded(r.t), seq, code, nil); err != nil {
		r.t.Fatalf("execute: %v", err)
	}
	for timeout := time.After(patience); ; {
		r.mu.Lock()
		result, ok := r.results[seq]
		changed := r.changed
		r.mu.Unlock()
		if ok && !result.OK {
			r.t.Fatalf("%s failed:\n%s", code, result.Error)
		}
		if ok && result.Value == nil {
			return ""
		}
		if ok {
			return *result.Value
		}
		select {
		case <-changed:
		case <-r.Ended():
			r.t.Fatalf("the machine ended: %+v", r.Cause())
		case <-timeout:
			r.t.Fatalf("%s does not end", code)
		}
	}
}

// Expect fails the test where code gives another value than that.
func (r *InMemory) Expect(code, want string) {
	r.t.Helper()
	if got := r.Value(code); got != want {
		r.t.Errorf("%s gives %s, not %s", code, got, want)
	}
}

// AwaitEnd waits for the end and returns its cause.
func (r *InMemory) AwaitEnd() machine.Cause {
	r.t.Helper()
	select {
	case <-r.Ended():
	case <-time.After(2 * patience):
		r.t.Fatal("the machine does not end")
	}
	return r.Cause()
}
