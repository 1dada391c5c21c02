//go:build linux

package main

import (
	"os"
	"strconv"
	"strings"
)

// mostCached is how much of what was read from the disks may stay in memory, in bytes. The computer
// keeps it, too, and only what is free here goes back to it (free page reporting).
const mostCached = 256 << 20

// giveBack frees memory that holds no more than what is on the disks.
func giveBack() {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil || cached(string(b)) < mostCached {
		return
	}
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0); err != nil {
		say("memory is not given back: %v", err)
	}
}

// cached is how many bytes of files of the disks are in memory, by what /proc/meminfo holds.
func cached(meminfo string) (bytes int64) {
	for line := range strings.Lines(meminfo) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "Cached:":
			bytes += kilobytes << 10
		case "Shmem:": // among Cached: machines' memory, which is on no disk
			bytes -= kilobytes << 10
		}
	}
	return bytes
}
