//go:build linux && real

package service_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/store"
)

// real is a service on the native engine: real supervisors, gVisor and Python.
type real struct {
	t   testing.TB
	ctx context.Context
	dir string

	program string // of supervisors
	place   local.Config

	places []machine.Engine // elsewhere
	engine *native.Engine
	dead   []*native.Engine // of services that let go of everything
	store  *store.Store
	*service.Service
	settings service.Settings
}

func openReal(t testing.TB, settings service.Settings) *real {
	t.Helper()
	bin := hometest.Bin(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	r := &real{t: t, ctx: ctx, dir: t.TempDir(), settings: settings}
	r.program = filepath.Join(bin, "supervisor")
	r.place = local.Config{
		Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: filepath.Join(r.dir, "native"),
		Log: slog.New(slog.DiscardHandler),
	}
	r.engine = native.New(native.Config{Supervisor: r.program, Store: local.NewStore(r.place)})
	for _, p := range r.engine.Check(ctx) {
		t.Fatalf("the native engine cannot be used here (make build makes what it needs): %s %s", p.What, p.Do)
	}
	if err := hometest.Lend(r.place.Data); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() {
		defer cancel()
		r.close()
		if err := hometest.Take(r.place.Data); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *real) open() {
	r.t.Helper()
	var err error
	if r.store, err = store.Open(r.ctx, filepath.Join(r.dir, "history.db")); err != nil {
		r.t.Fatal(err)
	}
	place := local.NewStore(r.place)
	r.engine = native.New(native.Config{Supervisor: r.program, Store: place})
	r.Service, err = service.New(r.ctx, service.Config{
		Engines: map[string]machine.Engine{native.Name: r.engine}, DefaultEngine: native.Name, Checkpoints: place, Store: r.store,
		OutputDir: filepath.Join(r.dir, "output"), Settings: r.settings,
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) close() {
	r.t.Helper()
	if err := r.Service.Close(r.ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	r.closeRest()
}

func (r *real) closeRest() {
	r.t.Helper()
	if err := r.store.Close(); err != nil {
		r.t.Errorf("close the store: %v", err)
	}
	for _, engine := range append(r.dead, r.engine) {
		if err := engine.Close(); err != nil {
			r.t.Errorf("close the engine: %v", err)
		}
	}
	for _, place := range r.places {
		if err := place.Close(); err != nil {
			r.t.Errorf("close %s: %v", place.Name(), err)
		}
	}
	r.dead, r.places = nil, nil
}

// die lets go of everything as the death of the daemon does: the supervisors save their machines by
// themselves.
func (r *real) die() {
	r.t.Helper()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Service.Close(gone)
	if err := r.store.Close(); err != nil {
		r.t.Errorf("close the store: %v", err)
	}
	r.dead = append(r.dead, r.engine)
}

func (r *real) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) create(name string) machine.Machine {
	r.t.Helper()
	m, err := r.Create(r.ctx, machine.CreateOptions{Name: name})
	r.ok(err)
	return m
}

func (r *real) at(name string) machine.Handle {
	r.t.Helper()
	return at(r.t, r.Service, name)
}

func (r *real) exec(name, code string) machine.Instruction {
	r.t.Helper()
	in, _, err := r.at(name).Execute(r.ctx, machine.ExecuteOptions{Code: code, Timeout: time.Minute})
	r.ok(err)
	return in
}

func (r *real) run(name, code string) machine.Instruction {
	r.t.Helper()
	in, err := r.at(name).Wait(r.ctx, r.exec(name, code).Seq)
	r.ok(err)
	return in
}

func (r *real) value(name, code, want string) machine.Instruction {
	r.t.Helper()
	in := r.run(name, code)
	if value(in) != want {
		r.t.Fatalf("%s: %q, want %q", code, value(in), want)
	}
	return in
}

func (r *real) until(what string, cond func() bool) {
	r.t.Helper()
	for !cond() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-r.ctx.Done():
			r.t.Fatalf("waiting for %s: %v", what, r.ctx.Err())
		}
	}
}

// supervisor returns the process of a machine's supervisor.
func (r *real) supervisor(id machine.ID) int {
	r.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	r.ok(err)
	for _, file := range dirs {
		cmd, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(cmd, []byte(r.program)) || !bytes.Contains(cmd, []byte(id)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[1] == strconv.Itoa(os.Getpid()) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			r.ok(err)
			return pid
		}
	}
	r.t.Fatalf("machine %s has no supervisor", id)
	return 0
}

func TestRealMachineKeepsItsStateThroughEverything(t *testing.T) {
	r := openReal(t, service.Settings{CheckpointAfterIdle: 200 * time.Millisecond})
	m := r.create("m")
	r.value("m", "x = 41\nx + 1", "42")

	r.ok(r.at("m").Swap(r.ctx))
	r.value("m", "x", "41")

	// The daemon dies while an instruction runs, and another waits.
	in := r.exec("m", "import time\nfor i in range(20):\n    print('tick', i)\n    time.sleep(0.1)\n'counted'")
	queued := r.exec("m", "x += 1; x")
	r.until("output", func() bool {
		items, err := r.at("m").Items(r.ctx, in.Seq, 0, 10)
		r.ok(err)
		return len(items) >= 3
	})
	r.die()
	r.open()
	var text strings.Builder
	done, err := r.at("m").Follow(r.ctx, in.Seq, 0, func(it machine.Item) error { text.Write(it.Text); return nil })
	r.ok(err)
	var want strings.Builder
	for i := range 20 {
		want.WriteString("tick " + strconv.Itoa(i) + "\n")
	}
	if text.String() != want.String() || value(done) != "'counted'" || done.RolledBack {
		t.Fatalf("the running instruction: %q, %q", value(done), text.String())
	}
	after, err := r.at("m").Wait(r.ctx, queued.Seq)
	r.ok(err)
	if value(after) != "42" || after.Notice != "" {
		t.Fatalf("the waiting one: %q, notice %q", value(after), after.Notice)
	}

	// The supervisor dies after a checkpoint.
	r.until("a checkpoint", func() bool {
		all, err := r.at("m").Checkpoints(r.ctx)
		r.ok(err)
		return len(all) > 0 && all[0].LastSeq == queued.Seq
	})
	lost := r.run("m", "x = 'lost'")
	r.ok(syscall.Kill(r.supervisor(m.ID), syscall.SIGKILL))
	r.until("its end to be noticed", func() bool { return r.at("m").Machine().State == machine.Swapped })
	next := r.value("m", "x", "42")
	if !strings.Contains(next.Notice, "returned to its state after step "+strconv.Itoa(queued.Seq+1)) {
		t.Fatalf("the rollback is not told: %q", next.Notice)
	}
	if rec, err := r.at("m").Instruction(r.ctx, lost.Seq); err != nil || !rec.RolledBack {
		t.Fatalf("the lost instruction: %+v, %v", rec, err)
	}

	// Rewind and fork.
	c, err := r.at("m").Checkpoint(r.ctx, "here")
	r.ok(err)
	r.run("m", "x = 'later'")
	back, err := r.at("m").Rewind(r.ctx, c.ID, "")
	r.ok(err)
	r.value("m", "x", "42")
	_, err = r.at("m").Rewind(r.ctx, back.Undo, "on 42")
	r.ok(err)
	r.value("m", "x", "'later'")
	_, err = r.at("m").Rewind(r.ctx, "on 42", "")
	r.ok(err)
	r.value("m", "x", "42")
	_, err = r.at("m").Fork(r.ctx, "", machine.CreateOptions{Name: "fork"})
	r.ok(err)
	r.run("fork", "x = 'forked'")
	r.value("m", "x", "42")
	r.value("fork", "x", "'forked'")
}

func TestRealForkOfARunningInstructionGoesOnInBoth(t *testing.T) {
	r := openReal(t, service.Settings{})
	r.create("m")
	in := r.exec("m", "import time\nfor i in range(30):\n    print(i)\n    time.sleep(0.1)\ni")
	r.until("output", func() bool {
		items, err := r.at("m").Items(r.ctx, in.Seq, 0, 10)
		r.ok(err)
		return len(items) >= 5
	})
	_, err := r.at("m").Fork(r.ctx, "", machine.CreateOptions{Name: "f"})
	r.ok(err)
	var want strings.Builder
	for i := range 30 {
		want.WriteString(strconv.Itoa(i) + "\n")
	}
	for _, name := range []string{"m", "f"} {
		var text strings.Builder
		done, err := r.at(name).Follow(r.ctx, in.Seq, 0, func(it machine.Item) error { text.Write(it.Text); return nil })
		r.ok(err)
		if value(done) != "29" || text.String() != want.String() {
			t.Fatalf("%s: %q, %q", name, value(done), text.String())
		}
	}
}

func TestRealTimeoutOfCodeThatSwallowsInterrupts(t *testing.T) {
	r := openReal(t, service.Settings{InterruptGrace: time.Second})
	r.create("m")
	r.run("m", "x = 1")
	_, err := r.at("m").Checkpoint(r.ctx, "")
	r.ok(err)
	in, _, err := r.at("m").Execute(r.ctx, machine.ExecuteOptions{
		Code: "while True:\n    try:\n        while True: pass\n    except BaseException: pass", Timeout: 500 * time.Millisecond,
	})
	r.ok(err)
	done, err := r.at("m").Wait(r.ctx, in.Seq)
	r.ok(err)
	if !strings.Contains(done.Error, "Timed out after 0.5 s") {
		t.Fatalf("%+v", done)
	}
	r.value("m", "x", "1")
	in, _, err = r.at("m").Execute(r.ctx, machine.ExecuteOptions{Code: "import time\ntime.sleep(100)"})
	r.ok(err)
	r.until("it to run", func() bool { return r.at("m").Machine().State == machine.Running })
	r.ok(r.at("m").Interrupt(r.ctx))
	if done, err = r.at("m").Wait(r.ctx, in.Seq); err != nil || done.ErrorName != "KeyboardInterrupt" {
		t.Fatalf("%+v %v", done, err)
	}
	r.value("m", "x", "1")
}

func TestRealHundredThousandLinesAndEndlessOutput(t *testing.T) {
	r := openReal(t, service.Settings{Output: output.Limits{File: 4 << 20}})
	r.create("m")
	r.value("m", "1+1", "2")
	started := time.Now()
	in := r.exec("m", "for i in range(100_000): print(f'line {i}')")
	next := 0
	var rest []byte
	done, err := r.at("m").Follow(r.ctx, in.Seq, 0, func(it machine.Item) error {
		rest = append(rest, it.Text...)
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				return nil
			}
			if string(line) != "line "+strconv.Itoa(next) {
				t.Fatalf("line %d is %q", next, line)
			}
			next++
			rest = after
		}
	})
	r.ok(err)
	t.Logf("100,000 lines in %v, %d items", time.Since(started), done.Items)
	if next != 100_000 || done.OutputDropped != 0 {
		t.Fatalf("%d lines, %d bytes dropped", next, done.OutputDropped)
	}

	in, _, err = r.at("m").Execute(r.ctx, machine.ExecuteOptions{Code: "while True: print('x' * 1000)", Timeout: 3 * time.Second})
	r.ok(err)
	done, err = r.at("m").Wait(r.ctx, in.Seq)
	r.ok(err)
	if !strings.Contains(done.Error, "Timed out") || done.OutputDropped == 0 {
		t.Fatalf("endless output: %d of %d bytes dropped, %q", done.OutputDropped, done.OutputBytes, done.Error)
	}
	out, err := r.at("m").Output(r.ctx, in.Seq)
	r.ok(err)
	defer func() { r.ok(out.Close()) }()
	var sink bytes.Buffer
	n, err := sink.ReadFrom(out)
	r.ok(err)
	t.Logf("endless: %d MB in all, %d MB kept", done.OutputBytes>>20, n>>20)
	if n != out.Size() || n != done.OutputBytes-done.OutputDropped || n > 10<<20 {
		t.Fatalf("kept %d, size %d, %d of %d dropped", n, out.Size(), done.OutputDropped, done.OutputBytes)
	}
}

func BenchmarkRealRoundTrip(b *testing.B) {
	r := openReal(b, service.Settings{})
	r.create("m")
	r.value("m", "1+1", "2")
	for b.Loop() {
		r.run("m", "1+1")
	}
}

// In the middle of an instruction that does not let itself be interrupted at once the machine goes
// to the bin, or is returned to there. It gets to its end when the machine is back, and the history
// does not say otherwise.
func TestRealInstructionThatGetsToItsEndAfterItWasBrokenOff(t *testing.T) {
	const code = "import time\nx = 'begun'\ntry:\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    x = 'got to its end'"
	for _, c := range []struct {
		name     string
		breakOff func(r *real)
	}{
		{"bin", func(r *real) {
			r.ok(r.at("m").Delete(r.ctx))
			r.ok(r.at("m").Restore(r.ctx))
		}},
		{"rewind", func(r *real) {
			middle, err := r.at("m").Checkpoint(r.ctx, "middle")
			r.ok(err)
			_, err = r.at("m").Rewind(r.ctx, middle.ID, "")
			r.ok(err)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// It is interrupted again after a fifth of the grace: on a busy computer that fell into
			// its except clause.
			r := openReal(t, service.Settings{InterruptGrace: time.Minute})
			r.create("m")
			in := r.exec("m", code)
			r.until("it to sleep", func() bool { return r.holds("m", "x", "'begun'") })
			c.breakOff(r)
			if stopped, err := r.at("m").Wait(r.ctx, in.Seq); err != nil || stopped.ErrorName != "MachineStopped" {
				t.Fatalf("%+v, %v", stopped, err)
			}
			if next := r.value("m", "x", "'got to its end'"); !strings.Contains(next.Notice, "Step 1 went on when this machine came back into memory, and got to its end") {
				t.Errorf("the next result's notice is %q", next.Notice)
			}
			told, err := r.at("m").Instruction(r.ctx, in.Seq)
			r.ok(err)
			if told.RolledBack || !strings.Contains(told.Notice, "and got to its end") {
				t.Errorf("its record is %+v", told)
			}
		})
	}
}

// holds says whether a variable is known to be as wanted, while something runs.
func (r *real) holds(name, variable, want string) bool {
	all, err := r.at(name).Variables(r.ctx)
	return err == nil && slices.ContainsFunc(all, func(v machine.Variable) bool { return v.Name == variable && v.Preview == want })
}

// What cannot be seen is told, too: the inside of an array, the body of a function, a file of the
// same size.
func TestRealStatesAreCompared(t *testing.T) {
	r := openReal(t, service.Settings{})
	r.create("m")
	r.run("m", `import numpy as np, os, pandas as pd
same, hidden, gone = pd.DataFrame({"n": range(1000), "word": ["a"] * 1000}), np.zeros(100_000), 1
class Thing:
    def __init__(self): self.inside = {"a": [1, 2]}
read = pd.DataFrame({"n": range(1000), "word": ["a", "b"] * 500, "price": 1.5, "at": pd.date_range("2025", periods=1000)})
for i in range(20): read[f"more{i}"] = i * 1.5
text = read["word"]
sales = pd.DataFrame({"shop": ["a", "b"], "revenue": [1.0, 3.0], "day": [1, 2], "note": ["x", "y"]})
thing, stream = Thing(), (n for n in range(3))
def double(x): return 2 * x
def triple(x): return 3 * x
for name in ("kept", "changed", "gone"):
    _ = open(name + ".txt", "w").write("one")`)
	before, err := r.at("m").Checkpoint(r.ctx, "before")
	r.ok(err)
	r.run("m", `hidden[50_000] = 1
_ = read.groupby("word").sum(numeric_only=True), read.values, read.sort_values("price"), text.str.upper(), read.set_index("at").loc["2025-02"]
read._consolidate_inplace() # as pandas does now and then
def triple(x): return 4 * x
sales["revenue"] *= 2
sales["note"] = "z"
del gone
new = [1, 2]
_ = open("changed.txt", "w").write("two")
os.utime("kept.txt")
os.remove("gone.txt")
os.makedirs("folder/.hidden")
_ = open("folder/new.txt", "w").write("new")`)
	changed := map[string]machine.ChangeKind{}
	differ := func(a, b string) machine.Comparison {
		c, err := r.at("m").Compare(r.ctx, a, b)
		r.ok(err)
		clear(changed)
		for _, v := range c.Variables {
			changed[v.Name] = v.Change
		}
		for _, f := range c.Files {
			changed[f.Path] = f.Change
		}
		return c
	}
	c := differ(before.ID, "")
	want := map[string]machine.ChangeKind{
		"hidden": machine.ChangeChanged, "triple": machine.ChangeChanged, "gone": machine.ChangeRemoved, "new": machine.ChangeAdded, "sales": machine.ChangeChanged,
		"changed.txt": machine.ChangeChanged, "gone.txt": machine.ChangeRemoved, "folder": machine.ChangeAdded, "folder/new.txt": machine.ChangeAdded,
	}
	if !maps.Equal(changed, want) || !slices.Equal(c.Unsure, []string{"stream"}) || c.Partial || len(c.OnlyA) != 0 || len(c.OnlyB) != 1 {
		t.Errorf("there differ %v, unsure is %q: %+v", changed, c.Unsure, c)
	}
	was, is := 2.0, 4.0
	i := slices.IndexFunc(c.Variables, func(v machine.VariableChange) bool { return v.Name == "sales" })
	if inside := c.Variables[i].Columns; !reflect.DeepEqual(inside, []machine.ColumnChange{{Name: "revenue", Before: &was, After: &is}, {Name: "note"}}) {
		t.Errorf("of the table there differ %+v", inside)
	}

	// In the middle of an instruction, too.
	in := r.exec("m", "new = 'begun'\nimport time\nwhile True: time.sleep(0.01)")
	r.until("it to begin", func() bool { return r.holds("m", "new", "'begun'") })
	if c = differ("", before.ID); changed["new"] != machine.ChangeRemoved || changed["gone.txt"] != machine.ChangeAdded || !slices.Contains(c.Unsure, "hidden") {
		t.Errorf("there differ %v, unsure is %q", changed, c.Unsure)
	}
	r.ok(r.at("m").Interrupt(r.ctx))
	if _, err := r.at("m").Wait(r.ctx, in.Seq); err != nil {
		t.Fatal(err)
	}
	r.until("nothing of it to be left", func() bool {
		machines, err := os.ReadDir(filepath.Join(r.place.Data, "machines"))
		r.ok(err)
		return len(machines) == 1
	})
}
