//go:build unix

package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// leaveNoCore keeps what is in memory, tokens among it, off the disk when this process is killed by
// a signal that dumps it. At a limit of 0, Linux hands it all the same to a program that collects
// crashes, at 1 to none; only the soft limit is lowered, so that programs which are started may
// raise it.
func leaveNoCore() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("read the limit of core dumps: %w", err)
	}
	limit.Cur = min(1, limit.Max)
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	return nil
}

// mostConnections is how many connections may be open at the port of this computer: half of this
// process's file descriptors. The other half is for machines, checkpoints and the database, and
// where there is a team, half of that for its port.
func mostConnections() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return usualConnections
	}
	return int(min(limit.Cur/2, 1<<20))
}

// usualConnections is half of the descriptors that most systems allow at least.
const usualConnections = 512
