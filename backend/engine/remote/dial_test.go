package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// broken is the way to a place that cannot be reached; it counts the tries.
type broken struct{ tries int }

func (b *broken) Dial(context.Context) (io.ReadWriteCloser, error) {
	b.tries++
	return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "It is off."}
}

// A place that could not be reached is left alone for a while, unless the person asks.
func TestAPlaceIsTriedAgainWhenSomebodyAsks(t *testing.T) {
	way := &broken{}
	p := New(Config{Name: "off", Owner: "0123456789abcdef0123456789abcdef", Dialer: way})
	defer p.Close()
	for _, want := range []int{1, 1, 2} {
		if want == 2 {
			if err := p.StartUp(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if problems := p.Check(t.Context()); len(problems) != 1 || problems[0].What != "It is off." || way.tries != want {
			t.Errorf("it was tried %d times, want %d, and is told as %v", way.tries, want, problems)
		}
	}
}

// mute is a pipe at whose end there is no agent, and which knows why.
type mute struct{ io.ReadWriteCloser }

func (mute) Why() error { return errNoRoom }

// toNobody dials those.
type toNobody struct{}

func (toNobody) Dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := net.Pipe()
	return mute{ours}, theirs.Close()
}

var errNoRoom = errors.New("there is no room")

// Why no agent answers is told by whatever pipe knows it.
func TestAPipeExplains(t *testing.T) {
	p := New(Config{Name: "mute", Owner: "0123456789abcdef0123456789abcdef", Dialer: toNobody{}})
	defer p.Close()
	if err := p.Purge(t.Context(), "a"); !errors.Is(err, errNoRoom) {
		t.Errorf("it is told as %v", err)
	}
}
