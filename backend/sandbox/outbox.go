//go:build linux

package sandbox

import (
	"io"
	"sync"
)

const (
	// maxOutbox bounds the runner's frames that wait for the daemon to read them, in bytes. An
	// honest runner keeps at most 4 MiB and one frame unacknowledged, so only a forging one is ever
	// held up by it.
	maxOutbox = 32 << 20
	// maxLoose bounds how far frames that may be lost can get ahead of the daemon.
	maxLoose = 1 << 20
)

// outbox holds the frames for the daemon, in order and bounded.
type outbox struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	bytes   int
	gone    bool // nobody will read any more: everything is dropped
	closing bool // nothing more comes
	holds   int  // while there are some, what is here stays here
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed.L = &o.mu
	return o
}

// push adds a frame, waiting for room. A loose one is dropped where there is little.
func (o *outbox) push(frame []byte, loose bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if loose && o.bytes > maxLoose {
		return
	}
	for o.bytes > maxOutbox && !o.gone && !o.closing {
		o.changed.Wait()
	}
	if o.gone || o.closing {
		return
	}
	o.queue = append(o.queue, frame)
	o.bytes += len(frame)
	o.changed.Broadcast()
}

// hold keeps frames from the daemon while a checkpoint is made after which the sandbox ends: what
// Python does after that moment it will do again when it wakes, so nobody may hear of it. Where
// several are to be made, one after another, all have to release it, when they have failed.
func (o *outbox) hold() (release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.holds--
		o.changed.Broadcast()
	}
}

// finish adds the last frame; whatever comes later is dropped, and so is what is held.
func (o *outbox) finish(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone || o.closing {
		return
	}
	if o.holds > 0 {
		o.queue = nil
	}
	o.queue = append(o.queue, frame)
	o.closing = true
	o.changed.Broadcast()
}

// drop lets go of everything: the daemon is gone.
func (o *outbox) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone, o.queue, o.bytes = true, nil, 0
	o.changed.Broadcast()
}

// writeTo writes frames as they come until the last one is written or the writing fails.
func (o *outbox) writeTo(w io.Writer) error {
	for {
		o.mu.Lock()
		for (o.holds > 0 || len(o.queue) == 0) && !o.closing && !o.gone {
			o.changed.Wait()
		}
		if o.gone || len(o.queue) == 0 {
			o.mu.Unlock()
			return nil
		}
		// The bytes count until they are written: a slow daemon holds the runner up, not our
		// memory.
		frame := o.queue[0]
		o.queue = o.queue[1:]
		o.mu.Unlock()
		if _, err := w.Write(frame); err != nil {
			o.drop()
			return err
		}
		o.mu.Lock()
		o.bytes -= len(frame)
		o.changed.Broadcast()
		o.mu.Unlock()
	}
}
