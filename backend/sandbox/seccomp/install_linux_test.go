package seccomp

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// behind says that this test's process is the one behind the filter.
const behind = "FOREVERVM_TEST_BEHIND_THE_FILTER"

// refused are calls by which holes in kernels were used, and what a sandbox has no need for. They
// are made so that a kernel without the filter answers otherwise than with EPERM, or grants them.
var refused = map[string]func() error{
	"bpf":               call(unix.SYS_BPF, 0, 0, 0),
	"io_uring_setup":    call(unix.SYS_IO_URING_SETUP, 0, 0, 0),
	"userfaultfd":       call(unix.SYS_USERFAULTFD, 1<<20, 0, 0),
	"perf_event_open":   call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0),
	"keyctl":            call(unix.SYS_KEYCTL, 0, 1<<30, 0),
	"add_key":           call(unix.SYS_ADD_KEY, 0, 0, 0),
	"fsopen":            call(unix.SYS_FSOPEN, 0, 0, 0),
	"move_mount":        call(unix.SYS_MOVE_MOUNT, 0, 0, 0),
	"open_by_handle_at": call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0),
	"kexec_load":        call(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0),
	"finit_module":      call(unix.SYS_FINIT_MODULE, 1<<20, 0, 0),
	"pidfd_getfd":       call(unix.SYS_PIDFD_GETFD, 1<<20, 0, 0),
	"a TCP socket":      socket(unix.AF_INET, unix.SOCK_STREAM, 0),
	"an IPv6 socket":    socket(unix.AF_INET6, unix.SOCK_DGRAM, 0),
	"a raw socket":      socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
	"the firewall":      socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
	"a machine's host":  socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"a kernel's cipher": socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
}

func call(number, a, b, c uintptr) func() error {
	return func() error {
		if _, _, err := unix.Syscall(number, a, b, c); err != 0 {
			return err
		}
		return nil
	}
}

func socket(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

// The processors' tables do not agree on every name.
func TestFilesHaveASizeOnEveryProcessor(t *testing.T) {
	for processor, stat := range map[string]string{"amd64": "newfstatat", "arm64": "fstatat"} {
		p, err := policy(processor)
		if err != nil {
			t.Fatal(err)
		}
		if allowed := p.Syscalls[0].Names; !slices.Contains(allowed, stat) {
			t.Errorf("%s: %s is not among %q", processor, stat, allowed)
		}
	}
}

// What a process behind the filter asks the kernel for, threads that were there before and programs
// that it starts among them.
func TestWhatIsBehindTheFilter(t *testing.T) {
	if os.Getenv(behind) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWhatIsBehindTheFilter$", "-test.v")
		cmd.Env = append(os.Environ(), behind+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var free []string
	for name, try := range refused {
		if !errors.Is(try(), unix.EPERM) {
			free = append(free, name)
		}
	}
	if len(free) < len(refused)/2 {
		t.Errorf("without the filter the kernel refuses nearly all: this test shows nothing; free are %q", free)
	}
	earlier := make(chan func() error)
	answers := make(chan error)
	ready := make(chan bool)
	go func() { // on a thread of its own from before
		ready <- true
		for f := range earlier {
			answers <- f()
		}
	}()
	<-ready
	if err := Install(); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		earlier <- refused[name]
		for where, err := range map[string]error{"here": refused[name](), "there": <-answers} {
			if !errors.Is(err, unix.EPERM) {
				t.Errorf("%s, %s: %v", name, where, err)
			}
		}
	}
	if err := socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)(); err != nil {
		t.Errorf("a Unix socket: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), "/bin/cat", "/proc/self/status").Output()
	if said := string(out); err != nil || !strings.Contains(said, "NoNewPrivs:\t1\n") || !strings.Contains(said, "Seccomp:\t2\n") {
		t.Errorf("a program that it starts: %v, %s", err, said)
	}
}
