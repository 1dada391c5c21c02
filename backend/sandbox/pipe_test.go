//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

func newTestRequests(t *testing.T) *requests {
	t.Helper()
	q, err := newRequests()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.close)
	return q
}

// awaitInput waits until something is in the pipe.
func (q *requests) awaitInput(t *testing.T) {
	t.Helper()
	conn, err := q.r.SyscallConn()
	if err == nil {
		err = conn.Read(func(uintptr) bool { return q.unread() > 0 })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// While a pipe is held nothing gets into it, and what was half written is finished afterwards.
func TestRequestsHold(t *testing.T) {
	q := newTestRequests(t)
	frame := bytes.Repeat([]byte("frame"), 100<<10)
	sent := make(chan error, 1)
	go func() { sent <- q.send(context.Background(), frame) }()
	q.awaitInput(t)
	release := q.hold()
	inPipe := q.unread()
	rest := q.unsent()
	if inPipe+len(rest) != len(frame) || !bytes.HasSuffix(frame, rest) {
		t.Errorf("%d bytes are in the pipe and %d to come, of %d", inPipe, len(rest), len(frame))
	}
	first := make([]byte, inPipe)
	if _, err := io.ReadFull(q.r, first); err != nil {
		t.Fatal(err)
	}
	if !q.settle(0) || q.unread() != 0 || !bytes.Equal(q.unsent(), rest) {
		t.Error("something was written while the pipe was held")
	}
	release()
	second := make([]byte, len(rest))
	if _, err := io.ReadFull(q.r, second); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil || !bytes.Equal(append(first, second...), frame) {
		t.Errorf("the frame came in pieces that do not fit: %v", err)
	}
}

func TestRequestsDoNotMix(t *testing.T) {
	q := newTestRequests(t)
	const n, size = 20, 100 << 10
	var senders sync.WaitGroup
	for i := range n {
		senders.Go(func() {
			if err := q.send(context.Background(), bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
				t.Error(err)
			}
		})
	}
	stop := make(chan struct{})
	senders.Go(func() { // holding it again and again disturbs nothing
		for {
			select {
			case <-stop:
				return
			default:
				q.hold()()
			}
		}
	})
	buf := make([]byte, size)
	for range n {
		if _, err := io.ReadFull(q.r, buf); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(buf, buf[:1]) != size {
			t.Fatal("two frames are mixed")
		}
	}
	close(stop)
	senders.Wait()
}

func TestRequestsOfADeadRunner(t *testing.T) {
	q, err := newRequests()
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 3)
	for range 3 {
		go func() { results <- q.send(context.Background(), make([]byte, 1<<20)) }()
	}
	q.awaitInput(t)
	q.close()
	for range 3 {
		if err := <-results; !errors.Is(err, errEnded) || failure(err).Kind != protocol.KindConflict {
			t.Errorf("sending to a dead runner: %v", err)
		}
	}
}

func TestRequestsGiveUp(t *testing.T) {
	q := newTestRequests(t)
	go func() { _ = q.send(context.Background(), make([]byte, 1<<20)) }() // nobody reads
	q.awaitInput(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := q.send(ctx, []byte("x")); !errors.Is(err, errNotReading) {
		t.Errorf("sending to a runner that does not read: %v", err)
	}
}

func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutbox()
		large := make([]byte, maxOutbox/4)
		pushed := 0
		go func() {
			for range 10 {
				o.push(large, false)
				pushed++
			}
		}()
		synctest.Wait()
		if pushed < 4 || pushed > 6 {
			t.Errorf("%d MiB wait for a daemon that does not read", pushed*len(large)>>20)
		}
		o.push([]byte("loose"), true) // dropped, not waited for
		r, w := io.Pipe()
		done := make(chan error)
		go func() { done <- o.writeTo(w) }()
		got := int64(0)
		copied := make(chan struct{})
		go func() { defer close(copied); got, _ = io.Copy(io.Discard, r) }()
		synctest.Wait()
		if pushed != 10 {
			t.Errorf("%d frames got through to a daemon that reads", pushed)
		}
		o.finish([]byte("end"))
		o.push([]byte("late"), false)
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.Close()
		<-copied
		if want := int64(10*len(large) + 3); got != want {
			t.Errorf("%d bytes came, not %d", got, want)
		}
	})
}

// What is said after the checkpoint that a machine is stopped with is not heard; when stopping
// fails, it is.
func TestOutboxHeld(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := newOutbox()
			var heard bytes.Buffer
			done := make(chan struct{})
			go func() { defer close(done); _ = o.writeTo(&heard) }()
			o.push([]byte("before "), false)
			synctest.Wait()
			first, second := o.hold(), o.hold()
			o.push([]byte("after "), false)
			first() // one save has failed, and the other is still to come
			synctest.Wait()
			if heard.String() != "before " {
				t.Errorf("during the other save %q is heard", heard.String())
			}
			if !stopped {
				second()
			}
			o.finish([]byte("end"))
			<-done
			want := "before end"
			if !stopped {
				want = "before after end"
			}
			if heard.String() != want {
				t.Errorf("heard %q, not %q", heard.String(), want)
			}
		})
	}
}

func TestOutboxWithoutDaemon(t *testing.T) {
	o := newOutbox()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	o.push([]byte("x"), false)
	if err := o.writeTo(w); err == nil {
		t.Error("writing to nobody succeeded")
	}
	for range 100 { // neither kept nor waited for
		o.push(make([]byte, maxOutbox), false)
	}
}
