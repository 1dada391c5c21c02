//go:build linux

package remote

import (
	"context"
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
