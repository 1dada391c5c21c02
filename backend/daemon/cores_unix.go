//go:build unix

package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// leaveNoCore keeps what is in memory, tokens among it, off the disk when this process is killed by a signal that dumps it. At a limit of 0, Linux hands
// it all the same to a program that collects crashes, at 1 to none; only the soft limit is lowered, so that programs which are started may raise it.
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
