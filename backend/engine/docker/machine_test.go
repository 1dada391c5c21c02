//go:build linux && system

package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// patience bounds everything that should be quick, on a computer that is busy.
const patience = 5 * time.Minute

func newID(t testing.TB, e machine.Engine) machine.ID {
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

// running is a machine in memory, for tests that need little of it; package enginetest has those
// that need more.
type running struct {
	t    testing.TB
	id   machine.ID
	life string
	machine.Sandbox
	next int

	mu      sync.Mutex
	results map[int]machine.Result
	changed chan struct{} // closed and replaced at every result
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start brings a machine into memory: from the template where checkpoint is empty.
func start(t testing.TB, e machine.Engine, id machine.ID, checkpoint string) *running {
	t.Helper()
	return startNamed(t, e, id, calmHeron, checkpoint)
}

// calmHeron is the name of machines whose name does not matter.
const calmHeron = "calm-heron-7"

// startNamed is start for a machine with a name of its own.
func startNamed(t testing.TB, e machine.Engine, id machine.ID, name, checkpoint string) *running {
	t.Helper()
	r, err := tryStartNamed(t, e, id, name, checkpoint)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return r
}

func tryStart(t testing.TB, e machine.Engine, id machine.ID, checkpoint string) (*running, error) {
	t.Helper()
	return tryStartNamed(t, e, id, calmHeron, checkpoint)
}

func tryStartNamed(t testing.TB, e machine.Engine, id machine.ID, name, checkpoint string) (*running, error) {
	t.Helper()
	r := &running{t: t, id: id, life: rand.Text(), results: map[int]machine.Result{}, changed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	r.Sandbox, err = e.Start(ctx, machine.StartSpec{ID: id, Name: name, Image: "base", MemoryMB: 512, Checkpoint: checkpoint, Life: r.life})
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

// value runs code that must succeed and returns repr() of its last expression.
func (r *running) value(code string) string {
	r.t.Helper()
	seq := r.next
	r.next++
	if err := r.Execute(bounded(r.t), seq, code, nil); err != nil {
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

func (r *running) expect(code, want string) {
	r.t.Helper()
	if got := r.value(code); got != want {
		r.t.Errorf("%s gives %s, not %s", code, got, want)
	}
}

// awaitEnd waits for the end and returns its cause.
func (r *running) awaitEnd() machine.Cause {
	r.t.Helper()
	select {
	case <-r.Ended():
	case <-time.After(2 * patience):
		r.t.Fatal("the machine does not end")
	}
	return r.Cause()
}
