//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// savePatience bounds a checkpoint that nobody waits for: the daemon is gone, or the machine
	// took more memory than it may.
	savePatience = 2 * time.Minute
	// farewellPatience bounds how long the daemon may take to read what is left.
	farewellPatience = 5 * time.Second
)

// finish ends the sandbox, unless something else has ended it.
func (s *supervisor) finish(e ending) {
	select {
	case s.end <- e:
	default:
	}
}

// awaitEnd waits until the sandbox is to end or has ended, and saves it where that is ours to do.
func (s *supervisor) awaitEnd(terminate <-chan os.Signal) ending {
	select {
	case e := <-s.end:
		return e
	case <-s.sandboxEnded:
		s.logEnd()
		return s.whyEnded()
	case <-s.link.gone():
		// What the daemon has not acknowledged, the runner says again when it wakes.
		s.box.drop()
		return s.saveAndEnd("The daemon ended.")
	case <-terminate:
		return s.saveAndEnd("The supervisor was asked to end.")
	}
}

// saveAndEnd saves the sandbox unasked, in bounded time.
func (s *supervisor) saveAndEnd(why string) ending {
	m, err := s.stopWithin(savePatience)
	if err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %s %v\n", why, err)
		return ending{cause: protocol.CauseBroken, detail: why + " " + err.Error()}
	}
	return ending{cause: protocol.CauseStopped, detail: why + " The machine was saved.", checkpoint: &m}
}

// stopWithin is stop in bounded time, whatever the disk does: what hangs in it ends with this
// process.
func (s *supervisor) stopWithin(patience time.Duration) (checkpoint.Manifest, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	type outcome struct {
		m   checkpoint.Manifest
		err error
	}
	done := make(chan outcome, 1)
	s.background(func() {
		m, err := s.stop(ctx)
		done <- outcome{m, err}
	})
	select {
	case o := <-done:
		return o.m, o.err
	case <-ctx.Done():
		return checkpoint.Manifest{}, &told{protocol.KindUnavailable, fmt.Sprintf("The machine could not be saved within %v.", patience)}
	}
}

// whyEnded says why the sandbox ended without our doing.
func (s *supervisor) whyEnded() ending {
	words, status := s.runner.lastWords(), s.status
	switch {
	case s.damaged():
		return ending{cause: protocol.CauseDamaged, detail: "Its saved state has changed on the disk, which may be failing."}
	case s.violated != nil:
		return ending{cause: protocol.CauseBroken, detail: "The machine was ended because it broke the rules of its connection."}
	case words != "":
		return ending{cause: protocol.CauseExited, detail: words}
	case status.Signaled() && killedForMemory():
		return ending{cause: protocol.CauseMemory, ownLimit: true, detail: "The system ended the machine because it took far more memory than it may. It could not be saved in time."}
	case status.Signaled():
		return ending{cause: protocol.CauseBroken, detail: fmt.Sprintf("The sandbox was ended from outside, by the signal %s.", signalWords(status.Signal()))}
	case status.ExitStatus() > 128 && status.ExitStatus() < 128+65:
		return ending{cause: protocol.CauseExited, detail: fmt.Sprintf("Python was ended from inside by the signal %s.", signalWords(unix.Signal(status.ExitStatus()-128)))}
	case roomIn(scratchPath) < scarce:
		return ending{cause: protocol.CauseBroken, detail: "The disk is full, and the sandbox ended because it could not write. Free some room; the machine then goes on from its last checkpoint."}
	default:
		return ending{cause: protocol.CauseBroken, detail: fmt.Sprintf("The sandbox ended unexpectedly, with the status %d.", status.ExitStatus())}
	}
}

// damagedPages is how the panic log begins of a sandbox that ended because a page of its memory is
// not what was saved (build/runsc, patch "checked pages"). No program inside can write there.
const damagedPages = "forevervm: saved pages are damaged"

// damaged says whether that is why it ended.
func (s *supervisor) damaged() bool {
	f, err := os.Open(panicLogPath)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(damagedPages))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == damagedPages
}

// logEnd writes down, for who looks into it, what a person is not told because the machine has had
// a hand in it.
func (s *supervisor) logEnd() {
	if s.violated != nil {
		fmt.Fprintln(os.Stderr, "supervisor:", s.violated)
	}
	if f, err := os.Open(panicLogPath); err == nil {
		defer f.Close()
		const most = 4 << 10
		if why, _ := io.ReadAll(io.LimitReader(f, most)); len(why) > 0 {
			fmt.Fprintf(os.Stderr, "supervisor: the sandbox failed: %q\n", why)
		}
	}
	s.logSaid()
}

func (s *supervisor) logSaid() {
	if said := s.stderr.String(); said != "" {
		fmt.Fprintf(os.Stderr, "supervisor: the sandbox wrote %q\n", said)
	}
}

// farewell tells the daemon why it ended, as the last frame, and closes the link when the daemon
// has everything.
func (s *supervisor) farewell(e ending) {
	told := protocol.Ended{Type: protocol.TypeEnded, Cause: e.cause, Detail: e.detail, OwnLimit: e.ownLimit}
	if e.checkpoint != nil {
		told.Checkpoint, _ = json.Marshal(e.checkpoint)
	}
	if frame, err := protocol.Encode(told, nil); err == nil {
		s.box.finish(frame)
	}
	select {
	case <-s.flushed:
		// The daemon closes the link when it has read the last frame.
		select {
		case <-s.link.gone():
		case <-time.After(farewellPatience):
		}
	case <-time.After(farewellPatience):
	}
	// It waits for the end of standard input, which does not come where anyone who holds it has
	// crashed.
	closed := make(chan struct{})
	s.background(func() {
		defer close(closed)
		_ = s.link.session.Close()
	})
	select {
	case <-closed:
	case <-time.After(farewellPatience):
	}
}
