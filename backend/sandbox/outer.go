//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// Exit statuses of a supervisor.
const (
	exitOK = 0
	// ExitFailed: it could not do its work; the reason is on stderr.
	ExitFailed = 1
)

const lockName = "lock"

// Descriptors that the inner supervisor is given: what it is to bring into memory comes over the
// first; the control group's count of kills and limit of memory (it sees none of the group's files)
// are the others, /dev/null where there is no group.
const (
	claimFD  = 3
	oomFD    = 4
	memoryFD = 5
)

// Run is the outer supervisor: it starts the inner one and waits for its end, and returns the exit
// status. While it lives, it holds the lock on the machine's folder, and gives it up when nothing
// of the sandbox is left. Where both are killed, the lock may be free a moment before the kernel
// has ended the sandbox; that writes no checkpoints, which only the inner supervisor does.
func Run(cfg Config) int {
	// The kernel kills the inner supervisor when the thread that started it ends: it must be the
	// one that waits.
	runtime.LockOSThread()
	home, err := settle(cfg)
	if err != nil {
		return failed(err)
	}
	defer home.leave() // the inner supervisor cannot tidy: its root is mounted on what is to go
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	if err := filterCalls(); err != nil {
		return failed(err)
	}
	group := enterLimits(cfg)
	defer func() { _ = group.Leave() }() // a group that is not empty is removed by the next supervisor
	home.group, home.memory = group, group.MemoryMax()
	files := []*os.File{group.OOMKills(), home.memory}
	if files[0] == nil && os.Getpid() == 1 {
		files[0] = cgroup.ContainerOOMKills()
	}
	for i := range files {
		if files[i] == nil {
			if files[i], err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return failed(err)
			}
		}
		defer files[i].Close()
	}

	status, err := runInner(cfg, home, files, signals, true)
	if err == nil && status == ExitNoProc && os.Getpid() == 1 {
		// In a container the PID name space is already ours: with us, everything in it ends.
		status, err = runInner(cfg, home, files, signals, false)
	}
	if err == nil && status == ExitNoProc {
		err = errNoProc
	}
	if err != nil {
		return failed(err)
	}
	return status
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "supervisor:", err)
	if errors.Is(err, errForbidden) {
		return ExitForbidden
	}
	return ExitFailed
}

// Lock takes the lock on a machine's folder, making it if need be, and fails with ErrLocked when
// another supervisor has it. Close the file to let go.
func Lock(machine string) (*os.File, error) {
	if err := os.MkdirAll(machine, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(machine, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}

// ErrLocked says that another supervisor still holds the machine.
var ErrLocked = errors.New("another supervisor holds this machine")

// Probe is the stage that tries whether a supervisor can work here: it makes the name spaces and
// what the private root needs, and ends.
func Probe() int {
	var exit *exec.ExitError
	switch err := inNamespaces(innerStageProbe, nil, true).Run(); {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode() // it has said why
	case err != nil:
		return failed(fmt.Errorf("%w: make a user name space: %w", errForbidden, err))
	default:
		return exitOK
	}
}

// probeInner does what buildRoot needs to be allowed.
func probeInner() int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed(fmt.Errorf("%w: make the mounts private: %w", errForbidden, err))
	}
	const root = "/proc" // it is everywhere
	if err := unix.Mount("probe", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=4k"); err != nil {
		return failed(fmt.Errorf("%w: mount the private root: %w", errForbidden, err))
	}
	if err := mountProc(root); err != nil {
		failed(err)
		return ExitNoProc
	}
	return exitOK
}

// inNamespaces prepares a stage of this program to be run in name spaces of its own.
func inNamespaces(stage string, args []string, ownPIDs bool) *exec.Cmd {
	flags := uintptr(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS)
	if ownPIDs {
		flags |= syscall.CLONE_NEWPID
	}
	cmd := exec.Command("/proc/self/exe", append([]string{stage}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		Pdeathsig:   syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd
}

func runInner(cfg Config, home *home, files []*os.File, signals <-chan os.Signal, ownPIDs bool) (int, error) {
	stage := innerStage
	if !ownPIDs {
		stage = innerStageSharedPIDs
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return 0, err
	}
	cmd := inNamespaces(stage, cfg.Args(), ownPIDs)
	cmd.ExtraFiles = append([]*os.File{theirs}, files...)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return 0, fmt.Errorf("%w: start in a user name space: %w", errForbidden, err)
	}
	defer home.serve(cfg, ours)()

	ended := make(chan struct{})
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		for {
			select {
			case s := <-signals:
				if s != unix.SIGHUP { // a closed terminal is no reason to stop
					_ = cmd.Process.Signal(unix.SIGTERM)
				}
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	<-relayed
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if status := cmd.ProcessState.ExitCode(); status >= 0 {
		return status, nil
	}
	return 0, fmt.Errorf("the inner supervisor was ended: %w", err)
}
