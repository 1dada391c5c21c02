package service_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/forevervm/desktop/backend/machine"
)

// What somebody is told survives a power cut: how an instruction ended, and that a file was put
// into the machine.
func TestWhatIsToldIsFlushed(t *testing.T) {
	inTime(t, func(w *world) {
		w.close()
		var loose atomic.Int32
		w.wrap = func(s machine.Store) machine.Store { return flushed{s, &loose} }
		w.open()
		m := w.used("m")
		w.exec("m", "wait")
		cancelled := w.exec("m", "print 2")
		w.ok(w.at("m").Cancel(w.ctx, cancelled.Seq))
		synctest.Wait()
		w.engine.box(m.ID).poke("release")
		w.wait("m", 1)
		w.put("m", "/root/f", "x")
		w.ok(w.at("m").Swap(w.ctx))
		w.engine.set(func() { w.engine.startErr = errors.New("there is no room for it") })
		w.run("m", "print 3")
		w.engine.set(func() { w.engine.startErr = nil })
		if n := loose.Load(); n != 0 {
			t.Errorf("%d things were told that a power cut would take back", n)
		}
	})
}

// flushed counts what is written without a flush and should not be.
type flushed struct {
	machine.Store
	loose *atomic.Int32
}

func (f flushed) Write(ctx context.Context, change func(machine.Writer) error) error {
	return f.Store.Write(ctx, func(w machine.Writer) error { return change(looseWriter{w, f.loose}) })
}

type looseWriter struct {
	machine.Writer
	loose *atomic.Int32
}

func (w looseWriter) PutInstruction(in machine.InstructionRecord) error {
	if in.Status.Done() {
		w.loose.Add(1)
	}
	return w.Writer.PutInstruction(in)
}

func (w looseWriter) PutMachine(m machine.MachineRecord) error {
	if m.Touched {
		w.loose.Add(1)
	}
	return w.Writer.PutMachine(m)
}
