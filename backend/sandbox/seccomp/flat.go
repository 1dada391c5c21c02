package seccomp

import (
	"encoding/json"
	"slices"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// processors are those that a filter for several computers is for, named as Go does.
var processors = []string{"amd64", "arm64"}

// Flat is Profile for a process without any capability, in the form that OCI runtimes read, such as
// the nodes of a cluster: there a rule has no conditions but its arguments, and Docker's rules
// "with this capability only" would hold for all. A runtime leaves out what its processor has not.
func Flat() ([]byte, error) {
	var profile moby.Seccomp
	if err := json.Unmarshal([]byte(Profile), &profile); err != nil {
		return nil, err
	}
	flat := specs.LinuxSeccomp{
		DefaultAction: profile.DefaultAction, DefaultErrnoRet: profile.DefaultErrnoRet,
		Architectures: []specs.Arch{specs.ArchX86_64, specs.ArchAARCH64},
	}
	for _, rule := range profile.Syscalls {
		if !slices.ContainsFunc(processors, func(p string) bool { return applies(rule, p) }) {
			continue
		}
		flat.Syscalls = append(flat.Syscalls, specs.LinuxSyscall{Names: rule.Names, Action: rule.Action, ErrnoRet: rule.ErrnoRet, Args: rule.Args})
	}
	return json.MarshalIndent(flat, "", "  ")
}

// applies says whether a rule allows something to a process without any capability on a processor.
func applies(rule *moby.Syscall, processor string) bool {
	if rule.Action != specs.ActAllow {
		return false
	}
	if has := rule.Includes; has != nil && (len(has.Caps) > 0 || len(has.Arches) > 0 && !slices.Contains(has.Arches, processor)) {
		return false
	}
	return rule.Excludes == nil || !slices.Contains(rule.Excludes.Arches, processor)
}
