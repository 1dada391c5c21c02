//go:build linux && real

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/cgroup"
	"github.com/forevervm/desktop/backend/sandbox/link"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// built finds a product of `make build`.
func built(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(hometest.Bin(t, name), name)
}

func config(t *testing.T) sandbox.Config {
	cfg := sandbox.Config{
		Runsc: built(t, "runsc"), Image: built(t, "image/base.erofs"), ImageDigest: "image", RuntimeDigest: "runsc", Machine: t.TempDir(),
	}
	t.Cleanup(func() { // a supervisor that was killed leaves its control group
		for deadline := time.Now().Add(time.Minute); errors.Is(sandbox.Tidy(cfg.Machine), sandbox.ErrLocked); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("the test leaves a supervisor behind")
				return
			}
		}
	})
	return cfg
}

// connect starts a command that is a supervisor and speaks with it.
func connect(t *testing.T, cmd *exec.Cmd) (*link.Sandbox, *strings.Builder) {
	t.Helper()
	return connectAs(t, cmd, protocol.Start{Name: "test"})
}

func connectAs(t *testing.T, cmd *exec.Cmd, start protocol.Start) (*link.Sandbox, *strings.Builder) {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	s, err := tryConnect(t, cmd, start)
	if err != nil {
		t.Fatalf("%v; stderr: %s", err, said.String())
	}
	t.Cleanup(func() {
		s.Kill()
		for range s.Frames() {
		}
		<-s.Ended()
	})
	return s, &said
}

func tryConnect(t *testing.T, cmd *exec.Cmd, start protocol.Start) (*link.Sandbox, error) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return link.Connect(ctx, protocol.Stdio(stdout, stdin), link.Options{
		Start: start,
		Kill:  func() { _ = cmd.Process.Kill() },
		Wait:  func() { _ = cmd.Wait() },
	})
}

// unlocked waits until nothing of an earlier supervisor holds the machine, as the engine does: its
// children die a moment after it.
func unlocked(t *testing.T, cfg sandbox.Config) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		lock, err := sandbox.Lock(cfg.Machine)
		if err == nil {
			lock.Close()
			return
		}
		if !errors.Is(err, sandbox.ErrLocked) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// value runs an expression and returns its repr.
func value(t *testing.T, s *link.Sandbox, seq int, code string) string {
	t.Helper()
	if err := s.Execute(t.Context(), seq, code, nil); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case f, ok := <-s.Frames():
			if !ok {
				<-s.Ended()
				t.Fatalf("the sandbox ended: %+v", s.Cause())
			}
			if f.Type == machine.FrameResult && f.Seq == seq {
				if !f.Result.OK || f.Result.Value == nil {
					t.Fatalf("%s: %+v", code, f.Result)
				}
				return *f.Result.Value
			}
		case <-time.After(time.Minute):
			t.Fatal("no result")
		}
	}
}

// In a container parts of /proc are hidden, and the kernel then refuses a fresh one. As process 1
// of it, the supervisor does with the container's own.
func TestAsProcessOneOfAContainer(t *testing.T) {
	cfg := config(t)
	script := `mount -t proc proc /proc && mount -t tmpfs none /proc/irq && mount -t tmpfs none /proc/tty && exec "$0" "$@"`
	s, _ := connect(t, unshared([]string{"--pid", "--fork", "--kill-child"}, script, append([]string{built(t, "supervisor"), "run"}, cfg.Args()...)...))
	if !runs(t, "inner-shared-pids", "-machine="+cfg.Machine) {
		t.Error("the container's PID name space is not used: this tests nothing")
	}
	if got := value(t, s, 0, "6*7"); got != "42" {
		t.Errorf("6*7 is %s", got)
	}
	if stats, err := s.Stats(t.Context()); err != nil || stats.MemoryBytes < 30<<20 {
		t.Errorf("stats: %+v, %v", stats, err)
	}
	// A checkpoint made here is restored there, where there is a PID name space of its own.
	info, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlocked(t, cfg)
	cfg.Restore = filepath.Join(cfg.Machine, "checkpoints", info.ID)
	woken, _ := connect(t, exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...))
	if got := value(t, woken, 1, "6*7"); got != "42" {
		t.Errorf("after waking, 6*7 is %s", got)
	}
}

// unshared is a shell script's command as root of a user name space, with mounts of its own. It is
// unshare's work, as this test program may not do it on every system (build/allow-namespaces.sh).
func unshared(more []string, script string, args ...string) *exec.Cmd {
	all := append([]string{"--user", "--map-root-user", "--mount"}, more...)
	return exec.Command("unshare", append(append(all, "/bin/sh", "-c", script), args...)...)
}

// runs says whether there is a process with these arguments.
func runs(t *testing.T, args ...string) bool { return len(running(t, args...)) > 0 }

// running returns the folders in /proc of the processes with these arguments.
func running(t *testing.T, args ...string) (folders []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		b, _ := os.ReadFile(path) // gone meanwhile: empty
		found := strings.Split(string(b), "\x00")
		if !slices.ContainsFunc(args, func(a string) bool { return !slices.Contains(found, a) }) {
			folders = append(folders, filepath.Dir(path))
		}
	}
	return folders
}

// Raising a machine's memory limit raises the one from outside too, lowering it lowers that.
func TestHardLimitFollows(t *testing.T) {
	cfg := config(t)
	cfg.MemoryMax = 400 << 20 // less than ever there is, to be hurt by it soon
	cmd := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	s, _ := connectAs(t, cmd, protocol.Start{Name: "test", LimitBytes: 256 << 20})
	hard := func() string { return groupFile(t, cfg, "memory.max", "memory.limit_in_bytes") }
	if hard() == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no control group for memory is offered here, where everything is to be tested")
		}
		t.Skip("no control group for memory is offered here")
	}
	limit := func(mb int) {
		t.Helper()
		if err := s.SetMemoryLimit(t.Context(), mb); err != nil {
			t.Fatal(err)
		}
		if got, want := hard(), fmt.Sprint(sandbox.HardLimit(int64(mb)<<20)); got != want {
			t.Errorf("with %d MiB the hard limit is %s, not %s", mb, got, want)
		}
	}
	limit(1024)
	if got := value(t, s, 0, "block = b'x' * (500 << 20); len(block) >> 20"); got != "500" {
		t.Errorf("took %s MiB", got)
	}
	limit(512)
	limit(4096)
}

// Where memory is short while a machine wakes, that is said, and not that what was saved is of no
// use.
func TestTooLittleMemoryToWake(t *testing.T) {
	cfg := config(t)
	cfg.MemoryMax = 4 << 30
	supervisor := func() *exec.Cmd {
		return exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	}
	s, _ := connect(t, supervisor())
	if groupFile(t, cfg, "memory.max", "memory.limit_in_bytes") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no control group for memory is offered here, where everything is to be tested")
		}
		t.Skip("no control group for memory is offered here")
	}
	value(t, s, 0, "(x := bytearray(200 << 20))[0]")
	info, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-s.Ended()
	unlocked(t, cfg)
	cfg.Restore = filepath.Join(cfg.Machine, "checkpoints", info.ID)
	cfg.MemoryMax = 16 << 20
	short, err := tryConnect(t, supervisor(), protocol.Start{Name: "test"})
	if !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "memory is short") {
		t.Errorf("with too little memory: %v", err)
	}
	if err == nil {
		short.Kill()
		<-short.Ended()
	}
	unlocked(t, cfg)
	cfg.MemoryMax = 4 << 30
	woken, _ := connect(t, supervisor())
	if got := value(t, woken, 1, "len(x) >> 20"); got != "200" {
		t.Errorf("it woke with %s MiB", got)
	}
}

// In a container that hides parts of /proc, natively no machine can start: it is known before one
// is tried.
func TestProbeTellsOfHiddenProc(t *testing.T) {
	out, err := unshared(nil, `mount -t tmpfs none /proc/irq && exec "$0" probe`, built(t, "supervisor")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != sandbox.ExitNoProc || !strings.Contains(string(out), "/proc") {
		t.Errorf("the probe ends with %v and says %q", err, out)
	}
}

// Who starts a supervisor learns from its exit status that the system forbids what the sandbox
// needs.
func TestProbeTellsOfForbiddenNamespaces(t *testing.T) {
	out, err := unshared(nil, `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" probe`, built(t, "supervisor")).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != sandbox.ExitForbidden || !strings.Contains(string(out), "user name space") {
		t.Errorf("the probe ends with %v and says %q", err, out)
	}
}

// groupFile reads a file of a machine's control group; empty where there is none.
func groupFile(t *testing.T, cfg sandbox.Config, names ...string) (content string) {
	t.Helper()
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, _ fs.DirEntry, _ error) error { // others come and go
		if filepath.Base(filepath.Dir(path)) == cgroup.Name(cfg.Machine) && slices.Contains(names, filepath.Base(path)) {
			b, _ := os.ReadFile(path)
			content = strings.TrimSpace(string(b))
		}
		return nil
	})
	return content
}

// A machine gives way to what else runs on the computer, and leaves something to it however much it
// has to do.
func TestLeavesProcessorsToOthers(t *testing.T) {
	cfg := config(t)
	cmd := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	connect(t, cmd)
	quota := fmt.Sprint(int(sandbox.Processors(runtime.NumCPU()) * 100_000))
	weight, shares := groupFile(t, cfg, "cpu.weight"), groupFile(t, cfg, "cpu.shares")
	switch {
	case weight != "":
		if got := groupFile(t, cfg, "cpu.max"); weight != "50" || got != quota+" 100000" {
			t.Errorf("the weight is %s, the bound %s", weight, got)
		}
	case shares != "":
		if got := groupFile(t, cfg, "cpu.cfs_quota_us"); shares != "512" || got != quota {
			t.Errorf("the shares are %s, the bound %s", shares, got)
		}
	default:
		// The system call tells 20 less the niceness.
		if got, err := syscall.Getpriority(syscall.PRIO_PROCESS, cmd.Process.Pid); err != nil || got != 20-5 {
			t.Errorf("the priority is %d, %v", got, err)
		}
	}
	for of, want := range map[int]float64{1: 1, 2: 1.5, 8: 7.5} {
		if got := sandbox.Processors(of); got != want {
			t.Errorf("of %d processors %v may be used", of, got)
		}
	}
}

func TestSIGTERMSaves(t *testing.T) {
	cfg := config(t)
	cmd := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	s, _ := connect(t, cmd)
	value(t, s, 0, "(x := 5)")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range s.Frames() {
	}
	<-s.Ended()
	cause := s.Cause()
	if cause.Kind != machine.EndedStopped || cause.Checkpoint == nil || cause.Checkpoint.LastSeq != 0 {
		t.Fatalf("the cause is %+v", cause)
	}
	unlocked(t, cfg)
	cfg.Restore = filepath.Join(cfg.Machine, "checkpoints", cause.Checkpoint.ID)
	woken, _ := connect(t, exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...))
	if got := value(t, woken, 1, "x"); got != "5" {
		t.Errorf("x is %s", got)
	}
}

// On a full disk saving fails with a clear word, and the machine goes on.
func TestFullDisk(t *testing.T) {
	cfg := config(t)
	// A file system of the machine's own, as small as can be, in a mount name space of its own.
	script := `mount -t tmpfs -o size=40m none "$1" && shift && exec "$0" "$@"`
	s, _ := connect(t, unshared(nil, script, append([]string{built(t, "supervisor"), cfg.Machine, "run"}, cfg.Args()...)...))
	value(t, s, 0, "(x := 5)")
	checkpoint := func(ctx context.Context) (machine.CheckpointInfo, error) { return s.Checkpoint(ctx, nil) }
	for seq, save := range []func(context.Context) (machine.CheckpointInfo, error){checkpoint, s.Stop} {
		_, err := save(t.Context())
		if !errors.Is(err, machine.ErrDiskFull) {
			t.Errorf("saving on a full disk: %v", err)
		}
		if got := value(t, s, seq+1, "x"); got != "5" {
			t.Errorf("after that, x is %s", got)
		}
	}
	// Inside it is an OSError as anywhere.
	got := value(t, s, 3, `
import errno
try:
    with open('/root/big', 'wb') as f:
        while True: f.write(b'x' * (1 << 20))
except OSError as e: caught = errno.errorcode[e.errno]
caught`)
	if got != "'ENOSPC'" {
		t.Errorf("writing inside: %s", got)
	}
	if got := value(t, s, 4, "x"); got != "5" {
		t.Errorf("after that, x is %s", got)
	}
}

func TestRefusesNonsense(t *testing.T) {
	supervisor := built(t, "supervisor")
	for name, args := range map[string][]string{
		"nothing":          nil,
		"no paths":         {"run"},
		"a relative path":  {"run", "-runsc=runsc", "-image=/i", "-machine=/m"},
		"an unknown stage": {"fly"},
		"an unknown flag":  {"run", "-nonsense"},
	} {
		out, err := exec.Command(supervisor, args...).CombinedOutput()
		if err == nil || len(out) == 0 {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
}

// A daemon that does not speak the protocol, or none at all, leaves nothing running.
func TestNoDaemon(t *testing.T) {
	for name, input := range map[string]io.Reader{
		"nobody":  strings.NewReader(""),
		"garbage": strings.NewReader(strings.Repeat("garbage", 1000)),
	} {
		cfg := config(t)
		cmd := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
		cmd.Stdin = input
		out, err := cmd.CombinedOutput()
		if err == nil || len(out) == 0 {
			t.Errorf("%s: %v, %q", name, err, out)
		}
		if _, err := os.Stat(filepath.Join(cfg.Machine, "scratch")); err == nil {
			t.Errorf("%s: the scratch folder is left", name)
		}
		if lock, err := sandbox.Lock(cfg.Machine); err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			lock.Close()
		}
	}
}

// Wherever code writes to memory instead of the disk, it comes to a limit, also when the machine
// has slept.
func TestFilesInMemoryAreBounded(t *testing.T) {
	const fill = `
import os, errno
unbounded, tried = [], []
for line in open('/proc/mounts'):
    _, where, kind, *_ = line.split()
    if kind in ('proc', 'sysfs', 'cgroup', 'devpts') or where == '/': continue
    tried.append(where)
    try:
        with open(where + '/full', 'wb') as f:
            for _ in range(300): f.write(b'x' * (1 << 20))
        unbounded.append(where)
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS): unbounded.append((where, str(e)))
    finally:
        try: os.remove(where + '/full')
        except OSError: pass
unbounded, {'/dev', '/dev/shm', '/sys/fs/cgroup'} - {*tried}`
	// Programs still find the devices, and processes their limit.
	const devices = `
import multiprocessing
with open('/dev/null', 'w') as null: null.write('x')
with open('/dev/urandom', 'rb') as random: n = len(random.read(4))
with open('/sys/fs/cgroup/pids/pids.max') as limit: bounded = limit.read().strip().isdigit()
n, os.openpty()[0] > 0, multiprocessing.Lock() is not None, bounded`
	cfg := config(t)
	for seq := 0; seq < 4; seq += 2 {
		s, _ := connect(t, exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...))
		if got := value(t, s, seq, fill); got != "([], set())" {
			t.Errorf("without a limit, or not tried: %s", got)
		}
		if got := value(t, s, seq+1, devices); got != "(4, True, True, True)" {
			t.Errorf("the devices: %s", got)
		}
		info, err := s.Stop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unlocked(t, cfg)
		cfg.Restore = filepath.Join(cfg.Machine, "checkpoints", info.ID)
	}
}

// Forks share the files of checkpoints with the machine that they were made from, so nothing in a
// sandbox's root leads to finished ones but the one that it was restored from, and that is
// read-only.
func TestFinishedCheckpointsAreOutOfReach(t *testing.T) {
	cfg := config(t)
	start := func() (*link.Sandbox, string) {
		s, _ := connect(t, exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...))
		inner := running(t, "inner", "-machine="+cfg.Machine)
		if len(inner) != 1 {
			t.Fatalf("the inner supervisors are %q", inner)
		}
		return s, filepath.Join(inner[0], "root")
	}
	s, _ := start()
	info, err := s.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cfg.Machine, "scratch")); err == nil {
		t.Error("the scratch folder is left")
	}
	unlocked(t, cfg)
	cfg.Restore = filepath.Join(cfg.Machine, "checkpoints", info.ID)
	s, root := start()
	if _, err := s.Checkpoint(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root+"/", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root)
		switch {
		case name == "/proc" || name == "/dev" || err != nil:
			return fs.SkipDir
		case strings.HasPrefix(name, "/checkpoint/"):
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); !errors.Is(err, syscall.EROFS) {
				t.Errorf("%s can be written: %v", name, err)
				f.Close()
			}
		case strings.HasSuffix(name, ".img") || strings.HasSuffix(name, "manifest.json"):
			t.Errorf("%s is within reach", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root + "/checkpoint/manifest.json"); err != nil {
		t.Errorf("this tests nothing: %v", err)
	}
}

// A supervisor that was killed leaves its control group, and the next one, whatever its own is
// called, removes it.
func TestSpareRemovesWhatAKilledSupervisorLeft(t *testing.T) {
	cfg := config(t)
	cmd := exec.Command(built(t, "supervisor"), append([]string{"run"}, cfg.Args()...)...)
	killed, _ := connect(t, cmd)
	info, err := killed.Checkpoint(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	killed.Kill()
	for range killed.Frames() {
	}
	<-killed.Ended()

	claim := sandbox.Claim{Machine: cfg.Machine, Restore: filepath.Join(cfg.Machine, "checkpoints", info.ID)}
	line, err := json.Marshal(claim)
	if err != nil {
		t.Fatal(err)
	}
	claims, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Close()
	if _, err := tell.Write(line); err != nil {
		t.Fatal(err)
	}
	tell.Close()
	waiting := cfg
	waiting.Machine, waiting.Spare = "", t.TempDir()
	spare := exec.Command(built(t, "supervisor"), append([]string{"run"}, waiting.Args()...)...)
	spare.ExtraFiles = []*os.File{claims}
	s, _ := connect(t, spare)
	if got := value(t, s, 0, "6*7"); got != "42" {
		t.Errorf("6*7 is %s", got)
	}
	if groupExists(cfg) {
		t.Error("the control group of the one that was killed is left")
	}
}

// groupExists says whether a control group of the machine's folder's name is there.
func groupExists(cfg sandbox.Config) (found bool) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, _ fs.DirEntry, _ error) error { // others come and go
		found = found || filepath.Base(path) == cgroup.Name(cfg.Machine)
		return nil
	})
	return found
}
