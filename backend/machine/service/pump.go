package service

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// commitEvery bounds how often a chatty machine writes to the store; the first frame after a
	// pause goes at once.
	commitEvery = 20 * time.Millisecond
	batchFrames = 512
	batchBytes  = 1 << 20
)

// pump takes in what the sandbox says until it has ended and all is stored.
func (x *session) pump() {
	defer func() {
		o := x.e.lock()
		x.died(o)
		o.unlock()
		if x.e.s.ctx.Err() == nil { // else its supervisor may go on with it, and the next daemon looks
			x.looking.Lock()
			x.e.watchShared(x.e.s.ctx, true)
			x.looking.Unlock()
		}
		close(x.stored)
		x.e.reap(x)
	}()
	frames := x.box.Frames()
	for {
		var f machine.Frame
		var ok bool
		select {
		case f, ok = <-frames:
		case <-x.e.s.ctx.Done():
			x.abandon()
			return
		}
		if !ok {
			break
		}
		batch := x.collect(f, frames)
		if x.e.s.patient("output", func(context.Context) error { return x.absorb(batch) }) != nil {
			x.abandon()
			return
		}
	}
	select {
	case <-x.box.Ended():
	case <-x.e.s.ctx.Done():
	}
}

// abandon lets go of a sandbox when the service ends without having saved it. What it still says
// was never acknowledged and comes again.
func (x *session) abandon() {
	if d, ok := x.box.(machine.Disconnecter); ok {
		d.Disconnect()
		for range x.box.Frames() {
		}
	}
}

// collect adds to a frame those that belong into the same write: what is there already and, soon
// after the last write, what comes shortly. A result waits for nothing.
func (x *session) collect(f machine.Frame, frames <-chan machine.Frame) []machine.Frame {
	batch := []machine.Frame{f}
	bytes := f.Bytes()
	var wait <-chan time.Time
	if pause := commitEvery - time.Since(x.lastCommit); pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		wait = timer.C
	}
	for f.Type != machine.FrameResult && f.Type != machine.FrameStarted && len(batch) < batchFrames && bytes < batchBytes {
		var ok bool
		select {
		case f, ok = <-frames:
		default:
			if wait == nil {
				return batch
			}
			select {
			case f, ok = <-frames:
			case <-wait:
				return batch
			}
		}
		if !ok {
			break
		}
		batch = append(batch, f)
		bytes += f.Bytes()
	}
	return batch
}
