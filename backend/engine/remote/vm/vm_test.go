//go:build linux && real && system && soak

package vm_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/engine/remote/vm"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
)

// patience bounds everything. The virtual machine runs without the processor's help (TCG), ten
// times slower than this computer.
const patience = 5 * time.Minute

// config is of a VM in a folder, with a processor of a kind.
func config(t testing.TB, processor, folder string, log *slog.Logger) vm.Config {
	t.Helper()
	parts := "."
	if processor != runtime.GOARCH {
		parts = processor // make arm64
	}
	guest := filepath.Join("guest", processor) // make guest
	bin := hometest.Bin(t, parts+"/agent", parts+"/supervisor", parts+"/runsc", parts+"/image/base.erofs", guest+"/kernel")
	guest, bin = filepath.Join(bin, guest), filepath.Join(bin, parts)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	// The digests that earlier tests have computed.
	sums := filepath.Join(folder, "sums")
	if err := hometest.Lend(sums); err != nil {
		t.Fatal(err)
	}
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: sums, Log: log})
	return vm.Config{
		Folder: folder, Kernel: filepath.Join(guest, "kernel"), Initramfs: filepath.Join(guest, "initramfs"),
		Parts:      vm.Parts{Agent: filepath.Join(bin, "agent"), Supervisor: filepath.Join(bin, "supervisor"), Runsc: filepath.Join(bin, "runsc"), Image: filepath.Join(bin, "image", "base.erofs")},
		Digest:     store.Digest,
		Hypervisor: vm.QEMU(processor, "tcg"),
		Limits:     func() (int, int64) { return 2048, 3 << 30 }, Processors: 2,
		Linger: time.Minute, Alone: 2 * time.Minute, Log: log,
	}
}

func newOwner(t testing.TB) string {
	t.Helper()
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// clock tells how long each part of a test takes.
type clock struct {
	t    *testing.T
	last time.Time
}

func (c *clock) lap(what string) {
	c.t.Helper()
	c.t.Logf("%s: %.1f s", what, time.Since(c.last).Seconds())
	c.last = time.Now()
}

// box is a machine in memory, and the results that it has given.
type box struct {
	machine.Sandbox
	t *testing.T

	mu      sync.Mutex
	results map[int]machine.Result
	changed chan struct{} // closed and replaced with each result
	next    int
}

// wake brings a machine into memory: a new one without a checkpoint.
func wake(t *testing.T, p machine.Engine, id machine.ID, checkpoint string) *box {
	t.Helper()
	return wakeAs(t, p, id, checkpoint, rand.Text())
}

func wakeAs(t *testing.T, p machine.Engine, id machine.ID, checkpoint, life string) *box {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found, err := p.Start(ctx, machine.StartSpec{ID: id, Name: "test", Image: "base", MemoryMB: 1024, Life: life, Checkpoint: checkpoint})
	if err != nil {
		t.Fatal(err)
	}
	b := &box{Sandbox: found, t: t, results: map[int]machine.Result{}, changed: make(chan struct{}), next: found.Ready().LastSeq + 1}
	go func() {
		for f := range found.Frames() {
			if f.Type == machine.FrameResult {
				b.mu.Lock()
				b.results[f.Seq] = f.Result
				close(b.changed)
				b.changed = make(chan struct{})
				b.mu.Unlock()
			}
			if f.Type != machine.FrameBackground {
				found.Ack(f.Seq, f.Index)
			}
		}
	}()
	t.Cleanup(b.end)
	return b
}

func (b *box) end() {
	b.Kill()
	select {
	case <-b.Ended():
	case <-time.After(patience):
		b.t.Error("the sandbox does not end")
	}
}

// run runs code and returns its result.
func (b *box) run(code string) machine.Result {
	b.t.Helper()
	seq := b.next
	b.next++
	if err := b.Execute(b.t.Context(), seq, code, nil); err != nil {
		b.t.Fatalf("%s: %v", code, err)
	}
	for timeout := time.After(patience); ; {
		b.mu.Lock()
		r, ok := b.results[seq]
		changed := b.changed
		b.mu.Unlock()
		if ok {
			return r
		}
		select {
		case <-changed:
		case <-b.Ended():
			b.t.Fatalf("%s: it ended: %+v", code, b.Cause())
		case <-timeout:
			b.t.Fatalf("%s: no result", code)
		}
	}
}

// expect runs code and compares the value.
func (b *box) expect(code, want string) {
	b.t.Helper()
	r := b.run(code)
	if !r.OK || r.Value == nil || *r.Value != want {
		b.t.Errorf("%s gives %+v", code, r)
	}
}

func (b *box) checkpoint(store machine.Checkpoints, id machine.ID) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	info, err := b.Checkpoint(ctx, func() {})
	if err == nil {
		err = store.Persist(ctx, id, info.ID, true)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return info.ID
}

// process is that of the virtual machine in a folder.
func process(t *testing.T, folder string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "machine"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(b))[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// taken is how much of this computer's disk the data disk takes, in bytes.
func taken(t *testing.T, folder string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(folder, "data.img"), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// resident is how much of this computer's memory the virtual machine takes, in bytes.
func resident(t *testing.T, folder string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process(t, folder)))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// runs says whether a virtual machine runs in a folder.
func runs(t *testing.T, folder string) bool {
	t.Helper()
	held, err := os.OpenFile(filepath.Join(folder, "machine"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	return unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come that %s", what)
		}
	}
}

// newFolder is a folder for a virtual machine. What its console and hypervisor have said is told at
// the end. Nothing may run in it then.
func newFolder(t *testing.T) string {
	folder, err := os.MkdirTemp("", "vm-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{"console.log", "console.log.old", "hypervisor.log"} {
			b, _ := os.ReadFile(filepath.Join(folder, name))
			t.Logf("%s:\n%s", name, b)
		}
		if runs(t, folder) {
			t.Error("a virtual machine still runs")
			_ = unix.Kill(process(t, folder), unix.SIGKILL)
		}
		os.RemoveAll(folder)
	})
	return folder
}

func closed(t *testing.T, p *remote.Place) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// What a machine is for, and what it survives, in a virtual machine that starts three times.
func TestAVirtualMachine(t *testing.T) {
	folder, owner := newFolder(t), newOwner(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	c := &clock{t, time.Now()}
	small := config(t, runtime.GOARCH, folder, log)
	small.Limits = func() (int, int64) { return 2048, 500 << 20 }
	p := remote.New(remote.Config{Name: "vm", Owner: owner, Dialer: vm.New(small), Patience: vm.Patience})
	defer p.Close()
	problems := p.Check(t.Context())
	c.lap("start")
	if len(problems) != 1 || !strings.Contains(problems[0].What, "are free on the disk") {
		t.Fatalf("of a small disk, problems are %+v", problems)
	}
	a, saved := survives(t, c, p, folder, func(b *box) {
		b.fill(t, p, folder)
		c.lap("a full disk")
	})
	enginetest.RunEscape(t, escapes(p), "Network")
	c.lap("no way to the network")
	closed(t, p)
	<-a.Ended()
	c.lap("end in order")

	// A daemon that is killed, and the next one.
	before := daemonThatDies(t, folder, owner, saved, 2*time.Minute)
	c.lap("a daemon starts it, and wakes a machine; the daemon is killed")
	large := config(t, runtime.GOARCH, folder, log)
	large.Linger = time.Second
	v := vm.New(large)
	p = remote.New(remote.Config{Name: "vm", Owner: owner, Dialer: v, Patience: vm.Patience, Idle: time.Second})
	defer p.Close()
	info, err := p.Reclaim(t.Context(), "a", "the daemon's", []string{saved})
	if err != nil || info == nil {
		t.Fatalf("the daemon's machine left %+v, %v", info, err)
	}
	if now := process(t, folder); now != before {
		t.Errorf("the virtual machine is %d, and was %d", now, before)
	}
	a = wake(t, p, "a", info.ID)
	a.expect("x", "43")
	c.lap("the next daemon takes it over, and wakes the machine")
	a.end()
	until(t, "it ends when nobody uses it", func() bool { return !v.Running() })
	c.lap("end, when nobody uses it")
	closed(t, p)

	daemonThatDies(t, folder, owner, saved, 20*time.Second)
	until(t, "it ends when no daemon comes", func() bool { return !runs(t, folder) })
	c.lap("a daemon is killed, and none comes: the virtual machine starts, and ends by itself")
}

// survives makes a machine whose x is 41, saves and copies it, and wakes it after the death of the
// virtual machine. Before that, its copy does something.
func survives(t *testing.T, c *clock, p *remote.Place, folder string, copyDoes func(b *box)) (a *box, saved string) {
	t.Helper()
	a = wake(t, p, "a", "")
	a.expect("x = 41; x", "41")
	c.lap("first result, with the making of the template")
	a.expect("x + 1", "42")
	c.lap("second result")
	saved = a.checkpoint(p, "a")
	c.lap("checkpoint")

	copied, err := p.Copy(t.Context(), "a", saved, "b")
	if err != nil {
		t.Fatal(err)
	}
	b := wake(t, p, "b", copied.ID)
	b.expect("x", "41")
	c.lap("fork")
	copyDoes(b)

	if err := unix.Kill(process(t, folder), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*box{a, b} {
		<-one.Ended()
		if cause := one.Cause(); cause.Kind != machine.EndedApart {
			t.Errorf("a machine of a virtual machine that is killed ended as %+v", cause)
		}
	}
	a = wake(t, p, "a", saved)
	a.expect("x", "41")
	c.lap("death of the virtual machine, its start, and waking")
	return a, saved
}

// The first part of it, on ARM. It needs a computer that has nothing else to do: Python takes more
// than a minute to be ready, and a supervisor waits for two.
func TestAVirtualMachineOnARM(t *testing.T) {
	folder := newFolder(t)
	c := &clock{t, time.Now()}
	cfg := config(t, "arm64", folder, slog.New(slog.NewTextHandler(t.Output(), nil)))
	p := remote.New(remote.Config{Name: "vm", Owner: newOwner(t), Dialer: vm.New(cfg), Patience: vm.Patience})
	defer p.Close()
	if problems := p.Check(t.Context()); len(problems) > 0 {
		t.Fatalf("problems are %+v", problems)
	}
	c.lap("start")
	a, _ := survives(t, c, p, folder, func(b *box) {
		b.expect("import numpy, platform; platform.machine(), int(numpy.arange(4) @ numpy.arange(4))", "('aarch64', 14)")
		c.lap("a library")
	})
	closed(t, p)
	<-a.Ended()
	c.lap("end in order")
}

// escapes is what the tests of escapes need. The processes are not of this computer.
func escapes(p *remote.Place) enginetest.Subject {
	return enginetest.Subject{
		Engine: p, Checkpoints: p, Apart: true,
		Processes: func(testing.TB, machine.ID) map[string]int { return nil },
		Undialled: func(t *testing.T) enginetest.Outside { return egresstest.Undialled(t) },
		Leftovers: func(testing.TB) []string { return nil },
	}
}

// fill fills the data disk by a checkpoint of a machine. That fails, and the machine goes on. What
// is deleted comes back to this computer, disk and memory.
func (b *box) fill(t *testing.T, p *remote.Place, folder string) {
	t.Helper()
	before := taken(t, folder)
	b.expect("import os; big = os.urandom(300 << 20); len(big)", "314572800")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := b.Checkpoint(ctx, func() {})
	if err == nil || !strings.Contains(err.Error(), "The disk is full at the place where this machine is") {
		t.Errorf("a checkpoint on a full disk: %v", err)
	}
	used := resident(t, folder)
	b.expect("del big; x", "41")
	until(t, "the room comes back", func() bool { return taken(t, folder) < before+100<<20 })
	until(t, "the memory comes back", func() bool { return resident(t, folder) < used-200<<20 })
	t.Logf("it had %d MB of memory, and now has %d MB", used>>20, resident(t, folder)>>20)
	b.checkpoint(p, "b")
}

// daemonThatDies is another daemon, which starts the virtual machine, wakes a machine in it whose x
// becomes 43, and is killed. After that, the virtual machine goes on alone for a while. Its process
// is returned.
func daemonThatDies(t *testing.T, folder, owner, checkpoint string, alone time.Duration) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDaemon$", "-test.v")
	cmd.Env = append(os.Environ(), "FOREVERVM_TEST_DAEMON="+strings.Join([]string{folder, owner, checkpoint, alone.String()}, " "))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "daemon is ready" {
			return process(t, folder)
		}
		t.Log(lines.Text())
	}
	t.Fatal("the other daemon does not get that far")
	return 0
}

// TestDaemon is daemonThatDies' other process.
func TestDaemon(t *testing.T) {
	told := strings.Fields(os.Getenv("FOREVERVM_TEST_DAEMON"))
	if len(told) != 4 { // it is no test of its own
		return
	}
	cfg := config(t, runtime.GOARCH, told[0], slog.New(slog.NewTextHandler(os.Stderr, nil)))
	var err error
	if cfg.Alone, err = time.ParseDuration(told[3]); err != nil {
		t.Fatal(err)
	}
	p := remote.New(remote.Config{Name: "vm", Owner: told[1], Dialer: vm.New(cfg), Patience: vm.Patience})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if problems := p.Check(ctx); len(problems) > 0 {
		t.Fatalf("on a disk that has grown, problems are %+v", problems)
	}
	a := wakeAs(t, p, "a", told[2], "the daemon's")
	a.expect("x += 2; x", "43")
	fmt.Println("daemon is ready")
	select {} // until it is killed
}
