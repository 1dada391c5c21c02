//go:build linux

package sandbox

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// niceness does what Weight does where the system offers no control group for the processor.
const niceness = 5

// enterLimits puts this process, and so the sandbox, within the limits that the system offers.
func enterLimits(cfg Config) *cgroup.Group {
	memory := cfg.MemoryMax
	if cfg.Spare != "" {
		memory = math.MaxInt64 // what the limit is comes with the claim
	}
	g := cgroup.Enter(cgroup.Name(cfg.Folder()), cgroup.Limits{
		MemoryMax: memory, PidsMax: cfg.PidsMax, Weight: Weight, Processors: Processors(runtime.NumCPU()),
	})
	if !g.Holds("cpu") {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	}
	return g
}

// limitProcesses bounds the sandbox's processes and threads where no control group does. Since
// Linux 5.14 this counts per user name space, so machines don't take each other's; it doesn't bind
// the computer's root.
func limitProcesses(cfg Config) {
	if cfg.PidsMax > 0 {
		n := uint64(cfg.PidsMax)
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		files.Cur = files.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &files)
	}
}

// limitMemory changes the hard limit through the group's file; 0 takes it away.
func limitMemory(file *os.File, bytes int64) {
	if bytes == 0 {
		bytes = math.MaxInt64
	}
	if _, err := file.WriteAt(strconv.AppendInt(nil, bytes, 10), 0); err != nil { // it is /dev/null where there is no group
		fmt.Fprintln(os.Stderr, "supervisor: the hard memory limit stays as it was:", err)
	}
}

// killedForMemory says whether the system has ended a process of the sandbox because it reached the
// hard limit.
func killedForMemory() bool {
	var b [4096]byte
	n, err := unix.Pread(oomFD, b[:], 0)
	return err == nil && cgroup.ParseOOMKills(b[:n]) > 0
}
