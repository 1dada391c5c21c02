//go:build linux && real

package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/egress/egresstest"
	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/home/hometest"
	"github.com/forevervm/desktop/backend/machine"
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
			Processes:   func(t testing.TB, id machine.ID) map[string]int { return nativetest.Of(t, e.store.Machine(id)) },
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
	bin := hometest.Bin(t, "supervisor", "runsc", "image/base.erofs")
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

// remembering is an engine that remembers which machines it has started.
type remembering struct {
	*Engine
	started nativetest.Started
}

func (r *remembering) Start(ctx context.Context, spec machine.StartSpec) (machine.Sandbox, error) {
	box, err := r.Engine.Start(ctx, spec)
	r.started.Note(r.store.Machine(spec.ID))
	return box, err
}

func (r *remembering) leftovers(t testing.TB) []string {
	return r.started.Leftovers(t, r.store.Config().Data, nil)
}
