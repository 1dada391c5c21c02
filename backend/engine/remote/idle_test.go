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

	"github.com/forevervm/desktop/backend/machine"
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

// watched dials nothing, and looks how many need the pipe meanwhile.
type watched struct {
	p     *Place
	users int
}

func (w *watched) Dial(context.Context) (io.ReadWriteCloser, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.users = w.p.users
	return nil, errNowhere
}

// Who starts a machine needs the pipe before there is one: it cannot be closed in between.
func TestAStartNeedsThePipe(t *testing.T) {
	var way watched
	p := New(Config{Name: "test", Owner: "test", Dialer: &way})
	defer p.Close()
	way.p = p
	if _, err := p.Start(t.Context(), machine.StartSpec{}); !errors.Is(err, errNowhere) || way.users != 1 || p.users != 0 {
		t.Errorf("%d need it, and %d at the end; %v", way.users, p.users, err)
	}
}

// lasting is a pipe that does not end before it may.
type lasting struct {
	io.ReadWriteCloser
	may toLasting
}

// toLasting dials those, which may end when it is closed.
type toLasting chan struct{}

func (may toLasting) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	pipe, err := toAgent{}.Dial(ctx)
	return lasting{pipe, may}, err
}

func (l lasting) Close() error {
	go func() {
		<-l.may
		_ = l.ReadWriteCloser.Close()
	}()
	return nil
}

// A pipe that takes long to end keeps nobody from the next one.
func TestAPipeEndsSlowly(t *testing.T) {
	for name, c := range map[string]struct {
		idle time.Duration
		end  func(*Place)
	}{
		"reset": {0, func(p *Place) { go p.Reset() }},
		"idle":  {time.Millisecond, func(*Place) {}},
		"gone":  {0, func(p *Place) { p.current.abandon() }},
	} {
		t.Run(name, func(t *testing.T) {
			may := make(toLasting)
			p := New(Config{Name: "test", Owner: "test", Dialer: may, Idle: c.idle})
			defer p.Close()
			defer close(may)
			first, err := p.connection(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.end(p)
			<-first.session.CloseChan()
			next := make(chan error, 1)
			go func() {
				_, err := p.connection(context.Background())
				next <- err
			}()
			select {
			case err := <-next:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it keeps the next one from being opened")
			}
		})
	}
}
