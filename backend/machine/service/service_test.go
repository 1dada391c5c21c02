package service_test

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/store"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a service on a scripted engine and a real database, in time that is not real.
type world struct {
	network machine.Network
	approve func(string) error

	t      tb
	ctx    context.Context
	dir    string
	engine *script
	store  *store.Store
	*service.Service
	settings service.Settings
	wrap     func(machine.Store) machine.Store
	freeDisk func() (int64, error)
	freeMem  func() (int64, error)
	totalMem int64
	exchange machine.Exchange
	watch    machine.ShareWatch
}

// at is the machine of that name, which there is.
func (w *world) at(name string) machine.Handle {
	w.t.Helper()
	return at(w.t, w.Service, name)
}

func at(t tb, s *service.Service, name string) machine.Handle {
	t.Helper()
	m, err := s.Find(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// inTime runs a test in a bubble of its own time, in which there is a moment, two seconds, between
// an instruction and its save.
func inTime(t *testing.T, f func(w *world)) {
	inTimeWith(t, service.Settings{}, f)
}

func inTimeWith(t *testing.T, settings service.Settings, f func(w *world)) {
	t.Helper()
	dir := t.TempDir()
	settings.CheckpointAfterIdle = cmp.Or(settings.CheckpointAfterIdle, 2*time.Second)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, ctx: t.Context(), dir: dir, engine: newScript(), settings: settings}
		w.open()
		defer w.engine.endAll()
		f(w)
		w.close()
	})
}

func (w *world) openStore() {
	w.t.Helper()
	var err error
	if w.store, err = store.Open(w.ctx, filepath.Join(w.dir, "history.db")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() {
	w.t.Helper()
	w.openStore()
	var err error
	records := machine.Store(w.store)
	if w.wrap != nil {
		records = w.wrap(records)
	}
	w.Service, err = service.New(w.ctx, service.Config{
		Engines: map[string]machine.Engine{"script": w.engine}, DefaultEngine: "script", Checkpoints: w.engine, Store: records,
		OutputDir: filepath.Join(w.dir, "output"), Settings: w.settings, FreeDisk: w.freeDisk, FreeMemory: w.freeMem, TotalMemory: w.totalMem,
		Network: w.network, Approve: w.approve, Exchange: w.exchange, Shareable: chosen, ShareWatch: w.watch,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// close ends the service in order.
func (w *world) close() {
	w.t.Helper()
	if err := w.Service.Close(w.ctx); err != nil {
		w.t.Errorf("close: %v", err)
	}
	w.closeStore()
}

func (w *world) closeStore() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("close the store: %v", err)
	}
}

// die ends the service without saving anything, as near to kill -9 as one process comes.
func (w *world) die() {
	w.t.Helper()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.Service.Close(gone)
	w.closeStore()
}

func (w *world) create(name string) machine.Machine {
	w.t.Helper()
	m, err := w.Create(w.ctx, machine.CreateOptions{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return m
}

func (w *world) exec(name, code string) machine.Instruction {
	w.t.Helper()
	return w.execWith(name, machine.ExecuteOptions{Code: code})
}

func (w *world) execWith(name string, opts machine.ExecuteOptions) machine.Instruction {
	w.t.Helper()
	in, _, err := w.at(name).Execute(w.ctx, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

func (w *world) wait(name string, seq int) machine.Instruction {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Minute)
	defer cancel()
	in, err := w.at(name).Wait(ctx, seq)
	if err != nil {
		w.t.Fatalf("waiting for instruction %d of %s, now %+v: %v", seq, name, in, err)
	}
	return in
}

// run executes and waits.
func (w *world) run(name, code string) machine.Instruction {
	w.t.Helper()
	return w.wait(name, w.exec(name, code).Seq)
}

// used makes a machine in which instruction 0 has taken effect.
func (w *world) used(name string) machine.Machine {
	w.t.Helper()
	m := w.create(name)
	w.run(name, "print 0")
	return m
}

// saved makes a machine like used, and lets it be saved.
func (w *world) saved(name string) machine.Machine {
	w.t.Helper()
	m := w.used(name)
	w.pass(3 * time.Second)
	return m
}

// begun sends an instruction and waits until it is as far as it gets on its own.
func (w *world) begun(name, code string) machine.Instruction {
	w.t.Helper()
	in := w.exec(name, code)
	synctest.Wait()
	return in
}

func (w *world) get(name string) machine.Machine {
	w.t.Helper()
	return w.at(name).Machine()
}

func (w *world) inState(name string, want machine.State) machine.Machine {
	w.t.Helper()
	synctest.Wait()
	m := w.get(name)
	if m.State != want {
		w.t.Fatalf("%s is %s, want %s (notice %q)", name, m.State, want, m.Notice)
	}
	return m
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// put writes a file into a machine.
func (w *world) put(name, path, content string) {
	w.t.Helper()
	_, err := w.at(name).PutFile(w.ctx, path, strings.NewReader(content))
	w.ok(err)
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func value(in machine.Instruction) string {
	if in.Value == nil {
		return "<" + in.ErrorName + ": " + in.Error + ">"
	}
	return *in.Value
}

func (w *world) effects(name, want string) {
	w.t.Helper()
	if got := value(w.run(name, "list")); got != want {
		w.t.Fatalf("what has taken effect in %s: %q, want %q", name, got, want)
	}
}

func TestInstructionsRunInOrderAndKeepTheirRecord(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		a := w.exec("m", "print hello")
		b := w.exec("m", "wait")
		c := w.exec("m", "list")
		if a.Seq != 0 || b.Seq != 1 || c.Seq != 2 {
			t.Fatalf("numbers %d %d %d", a.Seq, b.Seq, c.Seq)
		}
		if got := w.wait("m", 0); got.Status != machine.StatusOK || value(got) != "None" || got.Items != 1 || got.OutputBytes != 5 {
			t.Fatalf("first: %+v", got)
		}
		m := w.inState("m", machine.Running)
		if m.RunningSeq == nil || *m.RunningSeq != 1 || m.Queued != 1 {
			t.Fatalf("machine: %+v", m)
		}
		w.engine.box(m.ID).poke("release")
		if got := w.wait("m", 2); value(got) != "0 1" {
			t.Fatalf("last: %+v", got)
		}
		items, err := w.at("m").Items(w.ctx, 0, 0, 10)
		w.ok(err)
		if len(items) != 1 || string(items[0].Text) != "hello" || items[0].Index != 0 {
			t.Fatalf("items: %+v", items)
		}
		w.inState("m", machine.Idle)
	})
}

func TestAnEngineIsNamedOrChosen(t *testing.T) {
	inTime(t, func(w *world) {
		for _, named := range []string{"", "auto", "script"} {
			m, err := w.Create(w.ctx, machine.CreateOptions{Engine: named})
			w.ok(err)
			if m.Engine != "script" {
				t.Errorf("where %q is asked for, it runs on %q", named, m.Engine)
			}
			fork, err := w.at(m.Name).Fork(w.ctx, "", machine.CreateOptions{Engine: named})
			w.ok(err)
			if fork.Engine != "script" {
				t.Errorf("where %q is asked for, the fork runs on %q", named, fork.Engine)
			}
		}
		if _, err := w.Create(w.ctx, machine.CreateOptions{Engine: "none"}); !errors.Is(err, machine.ErrInvalid) {
			t.Errorf("on an engine that is not there: %v", err)
		}
	})
}

func TestIdleMachineIsSavedThenSwappedThenWokenByTheNextInstruction(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.run("m", "print x")
		w.pass(1900 * time.Millisecond)
		if n := w.engine.count(); n != 0 {
			t.Fatalf("%d checkpoints before it was idle for 2 s", n)
		}
		w.pass(200 * time.Millisecond)
		if n := w.engine.count(); n != 1 {
			t.Fatalf("%d checkpoints after it was idle for 2 s", n)
		}
		w.pass(9 * time.Minute)
		w.inState("m", machine.Idle)
		w.pass(time.Minute)
		w.inState("m", machine.Swapped)
		if n := w.engine.count(); n != 1 {
			t.Fatalf("%d automatic checkpoints are kept, want the latest only", n)
		}
		w.effects("m", "0")
	})
}

func TestTimeoutInterruptsThenEndsAndTellsTheNext(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.run("m", "print x")
		w.pass(3 * time.Second)
		in := w.wait("m", w.execWith("m", machine.ExecuteOptions{Code: "hang", Timeout: 1500 * time.Millisecond}).Seq)
		if in.Status != machine.StatusError || in.ErrorName != "Timeout" || !strings.Contains(in.Error, "Timed out after 1.5 s") {
			t.Fatalf("timeout: %+v", in)
		}
		w.effects("m", "0") // the state lives on
		start := time.Now()
		in = w.wait("m", w.execWith("m", machine.ExecuteOptions{Code: "stubborn", Timeout: time.Second}).Seq)
		if !strings.Contains(in.Error, "Timed out after 1 s") || !in.RolledBack {
			t.Fatalf("stubborn: %+v", in)
		}
		if took := time.Since(start); took > 7*time.Second {
			t.Fatalf("it took %v", took)
		}
		next := w.run("m", "list")
		if value(next) != "0" || !strings.Contains(next.Notice, "returned to its state after step 1") || !strings.Contains(next.Notice, "ran out of time") {
			t.Fatalf("next: %q, notice %q", value(next), next.Notice)
		}
		if after := w.run("m", "list"); after.Notice != "" {
			t.Fatalf("told twice: %q", after.Notice)
		}
	})
}

func TestTimeInTheQueueAndOnDiskDoesNotCount(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.create("m")
		w.exec("m", "wait")
		in := w.execWith("m", machine.ExecuteOptions{Code: "hang", Timeout: 10 * time.Second})
		w.pass(time.Minute)
		w.engine.box(m.ID).poke("release")
		w.pass(4 * time.Second)
		w.inState("m", machine.Running)
		w.ok(w.at("m").Swap(w.ctx))
		w.inState("m", machine.Swapped)
		w.pass(time.Hour)
		w.ok(w.at("m").Wake(w.ctx))
		w.pass(5 * time.Second)
		w.inState("m", machine.Running)
		w.pass(2 * time.Second)
		if got := w.wait("m", in.Seq); got.ErrorName != "Timeout" {
			t.Fatalf("%+v", got)
		}
	})
}

func TestInterruptAndCancel(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.exec("m", "hang")
		w.exec("m", "print a")
		w.exec("m", "print b")
		w.ok(w.at("m").Cancel(w.ctx, 1))
		if got := w.wait("m", 1); got.Status != machine.StatusCancelled || got.ErrorName != "Cancelled" {
			t.Fatalf("cancelled: %+v", got)
		}
		if err := w.at("m").Cancel(w.ctx, 0); !errors.Is(err, machine.ErrConflict) {
			t.Fatalf("cancel of a running one: %v", err)
		}
		in, interrupted, err := w.at("m").Execute(w.ctx, machine.ExecuteOptions{Code: "list", Interrupt: true})
		w.ok(err)
		if !interrupted {
			t.Fatal("not told that something was interrupted")
		}
		if got := w.wait("m", 0); got.ErrorName != "KeyboardInterrupt" {
			t.Fatalf("interrupted: %+v", got)
		}
		if got := w.wait("m", 2); got.ErrorName != "Cancelled" {
			t.Fatalf("pending: %+v", got)
		}
		if got := w.wait("m", in.Seq); value(got) != "" {
			t.Fatalf("new: %q", value(got))
		}
		if _, interrupted, err = w.at("m").Execute(w.ctx, machine.ExecuteOptions{Code: "list", Interrupt: true}); err != nil || interrupted {
			t.Fatalf("nothing was there to interrupt: %v %v", interrupted, err)
		}
		w.ok(w.at("m").Interrupt(w.ctx))
	})
}

// An interrupt that is meant for one instruction stops no other.
func TestInterruptOfOneInstruction(t *testing.T) {
	inTime(t, func(w *world) {
		w.create("m")
		w.run("m", "print a")
		running := w.exec("m", "hang")
		w.exec("m", "print b")
		for _, other := range []int{0, 2, 7} {
			w.ok(w.at("m").InterruptInstruction(w.ctx, other))
		}
		w.pass(time.Minute)
		if got := w.get("m"); got.RunningSeq == nil || *got.RunningSeq != running.Seq {
			t.Fatalf("interrupts of others stopped it: %+v", got)
		}
		w.ok(w.at("m").InterruptInstruction(w.ctx, running.Seq))
		if got := w.wait("m", running.Seq); got.ErrorName != "KeyboardInterrupt" {
			t.Fatalf("interrupted: %+v", got)
		}
	})
}

func TestDeathRollsBackAndSaysSo(t *testing.T) {
	inTime(t, func(w *world) {
		m := w.saved("m")
		w.run("m", "print 1")
		in := w.run("m", "die")
		if in.ErrorName != "MachineStopped" || !strings.Contains(in.Error, "segmentation fault") {
			t.Fatalf("died: %+v", in)
		}
		synctest.Wait()
		if got := w.get("m"); !strings.Contains(got.Notice, "what steps 2-3 changed is gone; their record stands") {
			t.Fatalf("notice: %q", got.Notice)
		}
		lost, err := w.at("m").Instruction(w.ctx, 1)
		w.ok(err)
		if !lost.RolledBack || lost.Status != machine.StatusOK {
			t.Fatalf("the record of 1: %+v", lost)
		}
		next := w.run("m", "list")
		want := "This machine was returned to its state after step 1, because Python was ended by signal 11 (segmentation fault): what steps 2-3 changed is gone; their record stands."
		if value(next) != "0" || next.Notice != want {
			t.Fatalf("next: %q, notice %q", value(next), next.Notice)
		}
		if got := w.get("m"); got.Notice != "" {
			t.Fatalf("the notice stays: %q", got.Notice)
		}

		// A supervisor that dies while nothing is lost is not worth a word.
		w.pass(3 * time.Second)
		w.engine.box(m.ID).crash()
		w.inState("m", machine.Swapped)
		if next := w.run("m", "list"); next.Notice != "" || value(next) != "0 3" {
			t.Fatalf("nothing was lost: %q, notice %q", value(next), next.Notice)
		}
	})
}
