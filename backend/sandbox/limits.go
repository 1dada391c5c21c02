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

const (
	// weight makes machines give way to what a person does at the computer meanwhile.
	weight = 50
	// niceness does the same where the system offers no control group for the processor.
	niceness = 5
	// spare is how much of the computer's processors a machine leaves to everything else, however much it has to do: half of one. Of a
	// single processor that would be too much to take; there the weight has to do.
	spare = 0.5
	// hardOverhead is what the hard limit leaves beyond the machine's own: what a save writes counts too, until it is on the disk, and
	// without room for it the save of a machine that has grown beyond its own limit all but stands still.
	hardOverhead = 4 << 30
)

// enterLimits puts this process, and so the sandbox, within the limits that the system offers.
func enterLimits(cfg Config) *cgroup.Group {
	memory := cfg.MemoryMax
	if cfg.Spare != "" {
		memory = math.MaxInt64 // what the limit is comes with the claim
	}
	g := cgroup.Enter(cgroup.Name(cfg.Folder()), cgroup.Limits{
		MemoryMax: memory, PidsMax: cfg.PidsMax, Weight: weight, Processors: Processors(runtime.NumCPU()),
	})
	if !g.Holds("cpu") {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	}
	return g
}

// Processors is how many of a computer's processors one machine may use, where the system lets us bound that.
func Processors(of int) float64 { return max(1, float64(of)-spare) }

// limitProcesses bounds the sandbox's processes and threads where no control group does. Since Linux 5.14 this counts
// per user name space, so machines don't take each other's; it doesn't bind the computer's root.
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

// HardLimit is the limit from outside of a machine whose own is limit, both in bytes, 0 for none. It leaves more than the watchdog does,
// so that this one stops the machine gently first.
func HardLimit(limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	return limit + limit/4 + hardOverhead
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

// killedForMemory says whether the system has ended a process of the sandbox because it reached the hard limit.
func killedForMemory() bool {
	var b [4096]byte
	n, err := unix.Pread(oomFD, b[:], 0)
	return err == nil && cgroup.ParseOOMKills(b[:n]) > 0
}
