//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// process is one of the machine's processes, told from a later one with the same number by its
// start time.
type process struct {
	pid, parent int
	start       string
	cmdline     string
}

// alive says whether this very process still runs (a zombie does not).
func (p process) alive() bool {
	now, ok := readProcess(p.pid)
	return ok && now.start == p.start
}

// hasOpen says whether the process has a file open.
func (p process) hasOpen(path string) bool {
	descriptors, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
	return slices.ContainsFunc(descriptors, func(fd string) bool {
		open, err := os.Readlink(fd)
		return err == nil && open == path
	})
}

func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The name, in parentheses, may hold anything; what follows the last one is regular.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return process{}, false
	}
	return process{pid, parent, fields[19], string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))}, true
}

// descendants are the processes below pid.
func descendants(t testing.TB, pid int) []process {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]process{}
	for _, e := range entries {
		n, err := strconv.Atoi(filepath.Base(e))
		if err != nil {
			continue
		}
		if p, ok := readProcess(n); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	next := []int{pid}
	for len(next) > 0 {
		below := children[next[0]]
		next = next[1:]
		for _, p := range below {
			found = append(found, p)
			next = append(next, p.pid)
		}
	}
	return found
}
