package seccomp

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	bpf "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// Install puts the calling process, all its threads and all that it starts behind Profile. It fails
// where the kernel has no seccomp, or the processor no table of calls.
func Install() error {
	policy, err := policy(runtime.GOARCH)
	if err != nil {
		return err
	}
	if !bpf.Supported() {
		return fmt.Errorf("the kernel has no filters of system calls (seccomp)")
	}
	if err := bpf.LoadFilter(bpf.Filter{NoNewPrivs: true, Flag: bpf.FilterFlagTSync, Policy: policy}); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// policy is what Profile says of a process without any capability on a processor, which is named as
// Go does. What it does not name is answered with EPERM, as by Docker.
func policy(processor string) (bpf.Policy, error) {
	calls, err := arch.GetInfo(processor)
	if err != nil {
		return bpf.Policy{}, err
	}
	var profile moby.Seccomp
	if err := json.Unmarshal([]byte(Profile), &profile); err != nil {
		return bpf.Policy{}, err
	}
	always := map[string]bool{}
	var sometimes []bpf.NameWithConditions
	for _, rule := range profile.Syscalls {
		if !applies(rule, processor) {
			continue
		}
		for _, name := range rule.Names {
			if name == "newfstatat" && processor == "arm64" {
				name = "fstatat" // as the table has it there
			}
			if _, known := calls.SyscallNames[name]; !known {
				continue // of another processor
			}
			if len(rule.Args) == 0 {
				always[name] = true
				continue
			}
			one := bpf.NameWithConditions{Name: name}
			for _, arg := range rule.Args {
				if arg.Op != specs.OpEqualTo {
					one.Conditions = nil // such rules narrow calls that another rule allows whole
					break
				}
				one.Conditions = append(one.Conditions, bpf.Condition{Argument: uint32(arg.Index), Operation: bpf.Equal, Value: arg.Value})
			}
			if len(one.Conditions) > 0 {
				sometimes = append(sometimes, one)
			}
		}
	}
	sometimes = slices.DeleteFunc(sometimes, func(c bpf.NameWithConditions) bool { return always[c.Name] })
	group := bpf.SyscallGroup{Action: bpf.ActionAllow, NamesWithCondtions: sometimes}
	for name := range always {
		group.Names = append(group.Names, name)
	}
	slices.Sort(group.Names)
	return bpf.Policy{DefaultAction: bpf.ActionErrno, Syscalls: []bpf.SyscallGroup{group}}, nil
}
