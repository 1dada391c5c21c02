//go:build linux

package remote

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// toAgent dials agents in this process that have nothing.
type toAgent struct{}

func (toAgent) Dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	agent := Agent{Log: slog.New(slog.DiscardHandler)}
	go func() { _ = agent.Serve(context.Background(), theirs) }()
	return ours, nil
}

// A pipe that nobody needs is closed, and one that somebody needs is not.
func TestAPipeThatNobodyNeeds(t *testing.T) {
	dialled := func() (*Place, *connection, func()) {
		p := New(Config{Name: "test", Owner: "test", Dialer: toAgent{}, Idle: 100 * time.Millisecond})
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		unused := p.use()
		c, err := p.connection(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p, c, unused
	}
	closes := func(c *connection) {
		t.Helper()
		select {
		case <-c.session.CloseChan():
		case <-time.After(time.Minute):
			t.Error("a pipe that nobody needs stays open")
		}
	}
	_, needed, unused := dialled()
	p, other, otherUnused := dialled()
	otherUnused()
	closes(other) // by then, the first one would have been, too
	if needed.lost() {
		t.Error("a pipe that somebody needs is closed")
	}
	unused()
	closes(needed)
	if again, err := p.connection(t.Context()); err != nil || again == other {
		t.Errorf("it is not opened again: %v", err)
	}
}

// counted dials nothing, and counts how often that is tried.
type counted struct{ dials int }

var errNowhere = errors.New("it leads nowhere")

func (c *counted) Dial(context.Context) (io.ReadWriteCloser, error) {
	c.dials++
	return nil, errNowhere
}

// What only runs while a pipe is open is started for a person's wish alone.
func TestACostlyPlaceRests(t *testing.T) {
	var way counted
	p := New(Config{Name: "test", Owner: "test", Dialer: &way, Costly: true})
	defer p.Close()
	if problems, err := p.Check(t.Context()), p.Collect(t.Context()); len(problems) > 0 || err != nil || !p.Resting() || way.dials > 0 {
		t.Errorf("it was dialled %d times, and has %v, %v", way.dials, problems, err)
	}
	if err := p.Purge(t.Context(), "m"); !errors.Is(err, errNowhere) || way.dials != 1 {
		t.Errorf("a wish gives %v, after %d dials", err, way.dials)
	}
	if problems := p.Check(t.Context()); len(problems) != 1 || way.dials != 1 {
		t.Errorf("what was wrong is told as %v, after %d dials", problems, way.dials)
	}
	if err := p.StartUp(t.Context()); !errors.Is(err, errNowhere) || way.dials != 2 {
		t.Errorf("who asks for a start is told %v, after %d dials", err, way.dials)
	}
}
