//go:build linux && real

package remote

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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

// Close waits for the agents.
func (f *fragile) Close() error { return f.Dialer.(io.Closer).Close() }

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

// A start survives a broken pipe: the place opens another.
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

// What may be asked for twice is asked for again when its pipe breaks. A copy is not.
func TestACallOutlivesItsPipe(t *testing.T) {
	p := newPlace(t, t.TempDir(), newOwner(t))
	pipes := &fragile{Dialer: p.cfg.Dialer}
	p.cfg.Dialer = pipes
	for name, c := range map[string]struct {
		call  func() error
		again bool
	}{
		"purge":   {func() error { return p.Purge(t.Context(), "a") }, true},
		"delete":  {func() error { return p.Delete(t.Context(), "a", "00000000-"+strings.Repeat("0", 16)) }, true},
		"reclaim": {func() error { _, err := p.Reclaim(t.Context(), "a", "life", nil); return err }, true},
		"used":    {func() error { _, err := p.Used(); return err }, true},
		"check":   {func() error { return told(p.Check(t.Context())) }, true},
		"copy":    {func() error { _, err := p.Copy(t.Context(), "a", "0", "b"); return err }, false},
	} {
		if problems := p.Check(t.Context()); len(problems) > 0 {
			t.Fatal(problems)
		}
		pipes.breaks.Store(true)
		err := c.call()
		if lost := err != nil && strings.Contains(err.Error(), errBroken); pipes.breaks.Load() || lost == c.again || c.again && err != nil {
			t.Errorf("%s: it broke: %v, %v", name, !pipes.breaks.Load(), err)
		}
	}
}

// told is the first problem of several.
func told(problems []machine.Problem) error {
	for _, p := range problems {
		return errors.New(p.What)
	}
	return nil
}

// An agent that is to end says so, and ends, where its pipe does not: through some pipes, neither
// end learns of that.
func TestAnAgentSaysThatItEnds(t *testing.T) {
	data, owner := t.TempDir(), newOwner(t)
	p := newPlace(t, data, owner)
	lasts := filepath.Join(t.TempDir(), "lasts")
	if err := os.WriteFile(lasts, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	way := p.cfg.Dialer.(*Command)
	way.Args = append([]string{"sh", "-c", `"$@"; while [ -e "$0" ]; do sleep 0.02; done`, lasts}, way.Args...)
	defer os.Remove(lasts)
	box := awake(t, p, "a")
	agent := agentOf(t, data, owner)
	if err := syscall.Kill(agent, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(agent, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it waits for the end of its input")
			break
		}
	}
	if _, err := p.Used(); err != nil {
		t.Errorf("the next call: %v", err)
	}
	isApart(t, box)
	goesOn(t, p, "a")
}
