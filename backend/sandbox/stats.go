//go:build linux

package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// usage is what all processes of the sandbox, ours among them, take of the computer.
type usage struct {
	memory int64   // bytes, all in all
	python int64   // of these, what the programs inside hold
	cpu    float64 // seconds
}

// measure adds up the processes in our PID name space. Python's memory is one file in memory that several processes map:
// it is counted once, as a file, and of the processes only what is theirs alone.
func measure(sandboxPID int) usage {
	var u usage
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return u
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		u.memory += anonymous(dir)
		u.cpu += cpuSeconds(dir)
	}
	u.python = memoryFiles(filepath.Join("/proc", strconv.Itoa(sandboxPID), "fd"))
	u.memory += u.python
	return u
}

// anonymous reads how much memory is a process's own.
func anonymous(dir string) int64 {
	f, err := os.Open(filepath.Join(dir, "status"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// memoryFiles adds up the files in memory that a process has open.
func memoryFiles(fds string) int64 {
	entries, err := os.ReadDir(fds)
	if err != nil {
		return 0
	}
	type key struct{ dev, ino uint64 }
	seen := map[key]int64{}
	for _, e := range entries {
		path := filepath.Join(fds, e.Name())
		target, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(target, "/memfd:") {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			seen[key{st.Dev, st.Ino}] = st.Blocks * 512
		}
	}
	var sum int64
	for _, n := range seen {
		sum += n
	}
	return sum
}

// cpuSeconds reads the processor time of a process and of its children that have ended.
func cpuSeconds(dir string) float64 {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// "pid (name) state ppid …": the name may hold anything.
	_, rest, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	const utime, cstime, ticksPerSecond = 11, 14, 100
	if len(fields) <= cstime {
		return 0
	}
	var ticks int64
	for _, f := range fields[utime : cstime+1] {
		n, _ := strconv.ParseInt(string(f), 10, 64)
		ticks += n
	}
	return float64(ticks) / ticksPerSecond
}
