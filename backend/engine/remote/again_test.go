//go:build linux && real

package remote

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// fragile are pipes that break when something is written to them, once each time that is asked for.
type fragile struct {
	Dialer
	breaks atomic.Bool
}

func (f *fragile) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	pipe, err := f.Dialer.Dial(ctx)
	return fragilePipe{pipe, f}, err
}

type fragilePipe struct {
	io.ReadWriteCloser
	of *fragile
}

func (p fragilePipe) Write(b []byte) (int, error) {
	if p.of.breaks.CompareAndSwap(true, false) {
		_ = p.Close()
	}
	return p.ReadWriteCloser.Write(b)
}

// A pipe that breaks when a machine is to be started is opened again.
func TestAStartOutlivesItsPipe(t *testing.T) {
	p := newPlace(t, t.TempDir(), newOwner(t))
	pipes := &fragile{Dialer: p.cfg.Dialer}
	p.cfg.Dialer = pipes
	if problems := p.Check(t.Context()); len(problems) > 0 {
		t.Fatal(problems)
	}
	pipes.breaks.Store(true)
	box, err := p.Start(t.Context(), machine.StartSpec{ID: machine.NewID(), Name: "first", Image: "base", MemoryMB: machine.DefaultMemoryMB, Life: "life"})
	if err != nil || pipes.breaks.Load() {
		t.Fatalf("it broke: %v, %v", !pipes.breaks.Load(), err)
	}
	box.Kill()
	for range box.Frames() { // it has nothing to say
	}
	<-box.Ended()
}
