package daemon

import "golang.org/x/sys/unix"

// freeMemory is not known here: only the machines' own limits hold.
var freeMemory func() (int64, error)

// totalMemory is how many bytes of memory the computer has; 0 where it does not say.
func totalMemory() int64 {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(total) //nolint:gosec // no computer has as much
}
