//go:build linux && real

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Capabilities that gVisor keeps, as bits of the kernel's sets.
const (
	overFiles = 0x1f // chown, dac_override, dac_read_search, fowner, fsetid
	chroot    = 1 << 18
	ptrace    = 1 << 19
)

// TestHardened is the table in README.md: what the processes around a machine can see and do, as
// the kernel tells of running ones.
func TestHardened(t *testing.T) {
	e := newEngine(t, t.TempDir())
	startNew(t, e, "a")
	pids := nativetest.Of(t, e.store.Machine("a"))
	for _, p := range nativetest.All(t) {
		if p.Parent == pids["sandbox"] {
			pids["code"] = p.PID // what runs the machine's code
		}
	}
	if len(pids) != 5 {
		t.Fatalf("the processes are %v", pids)
	}
	inside := []string{"inner", "sandbox", "gofer", "code"}
	each := func(t *testing.T, parts []string, check func(t *testing.T, pid int, status map[string]string)) {
		for _, part := range parts {
			t.Run(part, func(t *testing.T) { check(t, pids[part], enginetest.Status(t, pids[part])) })
		}
	}
	enginetest.Rows(t, "README.md", map[string]func(t *testing.T){
		"User": func(t *testing.T) {
			each(t, inside, func(t *testing.T, pid int, status map[string]string) {
				uid := strconv.Itoa(os.Getuid())
				users, err := os.ReadFile(fmt.Sprintf("/proc/%d/uid_map", pid))
				if err != nil || strings.Fields(status["Uid"])[0] != uid || strings.Join(strings.Fields(string(users)), " ") != "0 "+uid+" 1" {
					t.Errorf("user %s, of %q, %v", status["Uid"], users, err)
				}
			})
		},
		"Capabilities": func(t *testing.T) {
			for part, want := range map[string]int{"sandbox": overFiles | ptrace, "code": overFiles | ptrace, "gofer": overFiles | chroot} {
				status := enginetest.Status(t, pids[part])
				for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
					if got, err := strconv.ParseUint(status[set], 16, 64); err != nil || got != uint64(want) {
						t.Errorf("%s of the %s is %s", set, part, status[set])
					}
				}
			}
			each(t, inside, func(t *testing.T, pid int, _ map[string]string) {
				if here, there := linkOf(t, os.Getpid(), "ns/user"), linkOf(t, pid, "ns/user"); here == there {
					t.Error("they count in the computer's name space")
				}
			})
		},
		"NoNewPrivileges": func(t *testing.T) {
			each(t, append(inside, "supervisor"), func(t *testing.T, _ int, status map[string]string) {
				if status["NoNewPrivs"] != "1" {
					t.Errorf("it is %q", status["NoNewPrivs"])
				}
			})
		},
		"SystemCalls": func(t *testing.T) {
			before, _ := strconv.Atoi(enginetest.Status(t, os.Getpid())["Seccomp_filters"])
			for part, filters := range map[string]int{"supervisor": 1, "inner": 1, "sandbox": 2, "gofer": 2, "code": 2} {
				status := enginetest.Status(t, pids[part])
				if n, err := strconv.Atoi(status["Seccomp_filters"]); status["Seccomp"] != "2" || err == nil && n < before+filters {
					t.Errorf("the %s is behind %s filters", part, status["Seccomp_filters"])
				}
			}
		},
		"Files": func(t *testing.T) {
			for part, want := range map[string][]string{
				"inner":   {"checkpoint", "dev", "image.erofs", "machine", "proc", "reserved", "run", "runsc", "tmp"},
				"sandbox": {"etc", "proc"}, "code": {"etc", "proc"}, "gofer": {"mnt", "run"},
			} {
				if got := names(t, fmt.Sprintf("/proc/%d/root", pids[part])); !slices.Equal(got, want) {
					t.Errorf("the %s sees %q", part, got)
				}
			}
			for _, dir := range []string{"sandbox", "code"} {
				for _, under := range []string{"etc", "proc"} {
					if got := names(t, fmt.Sprintf("/proc/%d/root/%s", pids[dir], under)); len(got) > 0 {
						t.Errorf("the %s sees %q in %s", dir, got, under)
					}
				}
			}
		},
		"Writable": func(t *testing.T) {
			each(t, inside, func(t *testing.T, pid int, _ map[string]string) {
				for point, mount := range enginetest.Mounts(t, pid) {
					if mount.Writable && point != "/machine/scratch" && !slices.Contains([]string{"tmpfs", "proc", "devtmpfs", "nsfs"}, mount.Kind) {
						t.Errorf("%s can be written to (%s)", point, mount.Kind)
					}
				}
			})
		},
		"Network": func(t *testing.T) {
			each(t, inside, func(t *testing.T, pid int, _ map[string]string) {
				if linkOf(t, pid, "ns/net") == linkOf(t, os.Getpid(), "ns/net") {
					t.Error("it has the computer's network")
				}
			})
		},
		"Processes": func(t *testing.T) {
			each(t, inside, func(t *testing.T, pid int, status map[string]string) {
				if linkOf(t, pid, "ns/pid") == linkOf(t, os.Getpid(), "ns/pid") || len(strings.Fields(status["NSpid"])) < 2 {
					t.Errorf("its ids are %s", status["NSpid"])
				}
			})
		},
		"Devices": func(t *testing.T) {
			if got := names(t, fmt.Sprintf("/proc/%d/root/dev", pids["inner"])); !slices.Equal(got, []string{"null", "urandom", "zero"}) {
				t.Errorf("the inner supervisor sees %q", got)
			}
		},
		"Limits": func(t *testing.T) {
			each(t, inside, func(t *testing.T, pid int, _ map[string]string) {
				limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
				if err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string]int{"Max core file size": 0, "Max processes": sandbox.PidsMax} {
					_, line, _ := strings.Cut(string(limits), name)
					if fields := strings.Fields(line); len(fields) < 2 || fields[1] != strconv.Itoa(want) {
						t.Errorf("%s: %q", name, fields[:min(2, len(fields))])
					}
				}
			})
		},
		"Supervisor": func(t *testing.T) {
			log, err := os.ReadFile(filepath.Join(e.store.Machine("a"), logName))
			if err != nil || len(log) > 0 { // TestConfined in package sandbox is what Landlock leaves it
				t.Errorf("it complained of %q, %v", log, err)
			}
		},
	})
}

func linkOf(t *testing.T, pid int, name string) string {
	t.Helper()
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
