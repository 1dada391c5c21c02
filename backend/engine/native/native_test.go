//go:build linux && real

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/cgroup"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

func TestMain(m *testing.M) {
	// What loses its parent becomes ours, so that nothing can hide from leftovers.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if address := os.Getenv(ownNetwork); address != "" {
		if err := haveAddress(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// ownNetwork is set in a test program that is alone in a network, to the address that its loopback
// device is to have beside 127.0.0.1.
const ownNetwork = "FOREVERVM_TEST_OWN_NETWORK"

// haveAddress brings the loopback device up with another address.
func haveAddress(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	alias, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	if err := alias.SetInet4Addr(net.ParseIP(address).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias)
}

// neighbour listens at a private address in another network, which a cable connects to this one. It
// needs a network of this test's own.
func neighbour(t *testing.T) net.Listener {
	t.Helper()
	const here, there = "10.77.0.1", "10.77.0.2"
	ip := func(args ...string) error {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return nil
	}
	up := func(device, address string) error {
		return errors.Join(ip("address", "add", address+"/24", "dev", device), ip("link", "set", device, "up"))
	}
	moved, connected, listening := make(chan string), make(chan error), make(chan error)
	var l net.Listener
	go func() {
		runtime.LockOSThread() // for good: the thread goes with its network, what it has opened stays
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			close(moved)
			listening <- err
			return
		}
		moved <- fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		err := <-connected
		if err == nil {
			err = up("neighbour", there)
		}
		if err == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(there, "0"))
		}
		listening <- err
	}()
	if network, ok := <-moved; ok {
		connected <- errors.Join(ip("link", "add", "cable", "type", "veth", "peer", "name", "neighbour", "netns", network), up("cable", here))
	}
	if err := <-listening; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ip("link", "delete", "cable") }) // it may have gone with the other network
	return l
}

// In clouds the computer's own secrets are to be had at this address. The test of the network is
// run once more on a computer that has it, and another one beside it.
func TestMetadataAddress(t *testing.T) {
	const address = "169.254.169.254"
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Anyone who is not root is in a name space of users, where unshare may make one.
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--net", program, "-test.v", "-test.run", "^TestConformance$/^Escape$/^Network")
	cmd.Env = append(os.Environ(), ownNetwork+"="+address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // whose end the system takes for this program's
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance/Escape/NetworkWithPolicy") || !strings.Contains(string(out), address) || !strings.Contains(string(out), "10.77.0.2:") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Subject {
		e := lentEngine(t, t.TempDir())
		seen := &remembering{Engine: e}
		var beside func(*testing.T) net.Listener
		if os.Getenv(ownNetwork) != "" {
			beside = neighbour
		}
		return enginetest.Subject{
			Neighbour:   beside,
			Engine:      seen,
			Checkpoints: e.store,
			Disconnect:  func(s machine.Sandbox) { s.(*link.Sandbox).Disconnect() },
			Processes:   func(t testing.TB, id machine.ID) map[string]int { return processes(t, e.store.Machine(id)) },
			Undialled:   func(t *testing.T) enginetest.Outside { return egresstest.Undialled(t) },
			Internet:    func(t *testing.T) enginetest.Outside { return egresstest.Internet(t) },
			Folder:      e.store.Machine,
			Leftovers:   seen.leftovers,
		}
	})
}

// newEngine makes an engine of what `make build` has built.
func newEngine(t testing.TB, data string) *Engine {
	t.Helper()
	bin := os.Getenv("FOREVERVM_BIN")
	if bin == "" {
		bin = "../../../build/bin"
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"supervisor", "runsc", "image/base.erofs"} {
		if _, err := os.Stat(filepath.Join(bin, part)); err != nil {
			t.Fatalf("%v: run `make build` first, or set FOREVERVM_BIN", err)
		}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := local.NewStore(local.Config{Runsc: filepath.Join(bin, "runsc"), Images: filepath.Join(bin, "image"), Data: data, Log: log})
	e := New(Config{Supervisor: filepath.Join(bin, "supervisor"), Store: store, Log: log})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// lentEngine is newEngine with the template that an earlier test has made, for tests of something
// else.
func lentEngine(t testing.TB, data string) *Engine {
	t.Helper()
	if err := hometest.Lend(data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // when the engine is closed
		if err := hometest.Take(data); err != nil {
			t.Error(err)
		}
	})
	return newEngine(t, data)
}

// process is what /proc tells of one.
type process struct {
	pid, parent int
	zombie      bool
	args        []string
}

func allProcesses(t testing.TB) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var list []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // gone meanwhile
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parent, _ := strconv.Atoi(string(fields[1]))
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, process{pid, parent, string(fields[0]) == "Z", strings.Split(string(args), "\x00")})
	}
	return list
}

// processes finds those of the machine whose folder is dir.
func processes(t testing.TB, dir string) map[string]int {
	holders := lockHolders(t, filepath.Join(dir, "lock"))
	all := allProcesses(t)
	found := map[string]int{}
	for _, p := range all {
		if len(p.args) > 1 && p.args[1] == "run" && slices.Contains(holders, p.pid) {
			found["supervisor"] = p.pid
		}
	}
	child := func(of, name string, is func(process) bool) {
		for _, p := range all {
			if found[of] != 0 && p.parent == found[of] && is(p) {
				found[name] = p.pid
			}
		}
	}
	child("supervisor", "inner", func(p process) bool { return true })
	child("inner", "sandbox", func(p process) bool { return p.args[0] == "runsc-sandbox" })
	child("inner", "gofer", func(p process) bool { return p.args[0] == "runsc-gofer" })
	return found
}

// lockHolders are who took a lock on a file.
func lockHolders(t testing.TB, path string) (pids []int) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line) // such as "1: FLOCK ADVISORY WRITE 123 fe:00:456 0 EOF"
		if len(fields) > 5 && strings.HasSuffix(fields[5], fmt.Sprintf(":%d", st.Ino)) {
			pid, _ := strconv.Atoi(fields[4])
			pids = append(pids, pid)
		}
	}
	return pids
}

// remembering is an engine that remembers which machines it has started, so that what is left of a
// purged one is found too.
type remembering struct {
	*Engine
	mu     sync.Mutex
	groups map[string]bool // control groups of theirs
}

func (r *remembering) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	box, err := r.Engine.Start(ctx, spec)
	group, _ := os.ReadFile(filepath.Join(r.store.Machine(spec.ID), "lock"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.groups == nil {
		r.groups = map[string]bool{}
	}
	if cgroup.IsName(string(group)) {
		r.groups[string(group)] = true
	}
	return box, err
}

// leftovers waits until nothing is left of machines, and tells what stays.
func (r *remembering) leftovers(t testing.TB) []string {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := append(leftProcesses(t), leftFiles(t, r.store.Config().Data)...)
		r.mu.Lock()
		for name := range r.groups {
			groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
			nested, _ := filepath.Glob("/sys/fs/cgroup/*/*/*/" + name)
			if groups = append(groups, nested...); len(groups) == 0 {
				delete(r.groups, name) // for good, unless it is started again
			}
			left = append(left, groups...)
		}
		r.mu.Unlock()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// leftProcesses are all that descend from this one, but for a sandbox that waits for its machine.
func leftProcesses(t testing.TB) []string {
	ours := map[int]bool{os.Getpid(): true}
	var left []string
	for again := true; again; {
		again = false
		for _, p := range allProcesses(t) {
			if !ours[p.parent] || ours[p.pid] || isSpare(p) {
				continue
			}
			if p.zombie {
				if p.parent == os.Getpid() {
					_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil) // an orphan: elsewhere init does that
				}
				continue
			}
			ours[p.pid], again = true, true
			left = append(left, fmt.Sprintf("process %d %q", p.pid, p.args))
		}
	}
	return left
}

// isSpare says whether a process is a supervisor that nobody has claimed.
func isSpare(p process) bool {
	for _, arg := range p.args {
		if folder, ok := strings.CutPrefix(arg, "-spare="); ok && folder != "" && p.args[1] == "run" {
			_, err := os.Stat(folder)
			return err == nil
		}
	}
	return false
}

// leftFiles are mounts and what is half written.
func leftFiles(t testing.TB, data string) []string {
	var left []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, data) {
			left = append(left, "mount "+line)
		}
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if path == filepath.Join(data, "spares") {
			return filepath.SkipDir
		}
		if d != nil && (name == "scratch" || strings.HasSuffix(name, ".partial") || strings.HasSuffix(name, ".removed")) {
			left = append(left, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}
