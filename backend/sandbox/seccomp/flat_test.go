package seccomp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestFlatHasNoConditions keeps out what a node would not understand, and so take for a rule for
// everybody.
func TestFlatHasNoConditions(t *testing.T) {
	text, err := Flat()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "includes") || strings.Contains(string(text), "excludes") {
		t.Error("a rule has a condition")
	}
	var flat specs.LinuxSeccomp
	if err := json.Unmarshal(text, &flat); err != nil {
		t.Fatal(err)
	}
	if flat.DefaultAction != specs.ActErrno {
		t.Errorf("what is not named is answered by %q", flat.DefaultAction)
	}
	allowed := map[string]bool{}
	for _, rule := range flat.Syscalls {
		if rule.Action == specs.ActAllow && len(rule.Args) == 0 {
			for _, name := range rule.Names {
				allowed[name] = true
			}
		}
	}
	for _, name := range []string{"clone", "unshare", "mount", "pivot_root", "ptrace", "read"} {
		if !allowed[name] {
			t.Errorf("gVisor needs %s", name)
		}
	}
	for _, name := range []string{"bpf", "init_module", "kexec_load", "reboot", "settimeofday", "perf_event_open", "open_by_handle_at", "io_uring_setup"} {
		if allowed[name] {
			t.Errorf("%s is allowed, which Docker allows with a capability only", name)
		}
	}
	if !slices.Equal(flat.Architectures, []specs.Arch{specs.ArchX86_64, specs.ArchAARCH64}) {
		t.Errorf("it is for %v", flat.Architectures)
	}
}
