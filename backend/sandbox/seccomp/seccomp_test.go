//go:build linux

package seccomp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write seccomp.json")

// beyondDefault are the calls that a container may make beyond Docker's default profile: those that
// make name spaces and mounts, all of which the kernel allows within a user name space of one's own
// only, since the container has no capability.
var beyondDefault = []string{"clone", "clone3", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "sethostname", "ptrace"}

// ours is Docker's default profile, plus what it lacks.
func ours() *moby.Seccomp {
	p := moby.DefaultProfile()
	// This rule answers clone3 so that programs fall back to clone, whose arguments a filter can
	// look into.
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(s *moby.Syscall) bool {
		return s.Action == specs.ActErrno && reflect.DeepEqual(s.Names, []string{"clone3"})
	})
	// Of the sockets, gVisor and the supervisor use only those between local processes. Without the
	// others the kernel's networks and firewall, and a virtual machine's host (vsock), are out of
	// reach.
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(s *moby.Syscall) bool { return slices.Equal(s.Names, []string{"socket"}) })
	p.Syscalls = append(p.Syscalls, &moby.Syscall{
		LinuxSyscall: specs.LinuxSyscall{
			Names: []string{"socket"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Value: unix.AF_UNIX, Op: specs.OpEqualTo}},
		},
		Comment: "sockets between local processes",
	}, &moby.Syscall{
		LinuxSyscall: specs.LinuxSyscall{Names: beyondDefault, Action: specs.ActAllow},
		Comment:      "what gVisor needs to build its sandbox in a user name space of its own",
	})
	return p
}

func TestSeccompIsGenerated(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	if err := e.Encode(ours()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("seccomp.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != Profile {
		t.Error("seccomp.json is not what the profile's library and this test say: look at the difference and run `go test -run Seccomp -update`")
	}
}

// What a container may do for all the libraries' changes: exactly these calls more than by Docker's
// default.
func TestSeccompDiffersFromDefault(t *testing.T) {
	var p moby.Seccomp
	if err := json.Unmarshal([]byte(Profile), &p); err != nil {
		t.Fatal(err)
	}
	if p.DefaultAction != specs.ActErrno {
		t.Errorf("what no rule names is answered with %s", p.DefaultAction)
	}
	allowed, usual := allowedCalls(&p), allowedCalls(moby.DefaultProfile())
	var more, fewer []string
	for call := range allowed {
		if !usual[call] {
			more = append(more, call)
		}
	}
	for call := range usual {
		if !allowed[call] {
			fewer = append(fewer, call)
		}
	}
	slices.Sort(more)
	// Docker's default allows ptrace where the kernel is new enough, and clone without the flags
	// that make name spaces.
	want := slices.DeleteFunc(slices.Clone(beyondDefault), func(s string) bool { return s == "ptrace" })
	slices.Sort(want)
	if !slices.Equal(more, want) || len(fewer) > 0 {
		t.Errorf("allowed beyond Docker's default are %q, not %q; and not allowed any more %q", more, want, fewer)
	}
	for _, call := range []string{"bpf", "perf_event_open", "keyctl", "add_key", "init_module", "kexec_load", "open_by_handle_at", "userfaultfd", "reboot", "swapon", "fsmount", "move_mount"} {
		if allowed[call] {
			t.Errorf("%s is allowed", call)
		}
	}
}

// allowedCalls are those that a process without any capability may make whatever their arguments,
// on a new kernel of this architecture.
func allowedCalls(p *moby.Seccomp) map[string]bool {
	allowed := map[string]bool{}
	for _, s := range p.Syscalls {
		if s.Action != specs.ActAllow || len(s.Args) > 0 {
			continue
		}
		if s.Includes != nil && (len(s.Includes.Caps) > 0 || len(s.Includes.Arches) > 0 && !slices.Contains(s.Includes.Arches, "amd64")) {
			continue
		}
		for _, name := range s.Names {
			allowed[name] = true
		}
	}
	return allowed
}
