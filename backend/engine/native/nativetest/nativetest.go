//go:build linux

// Package nativetest tells tests what there is of machines that run as processes of this computer.
package nativetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// Process is what /proc tells of one.
type Process struct {
	PID, Parent int
	Args        []string

	zombie bool
}

// All are the processes of this computer.
func All(t testing.TB) []Process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var list []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // gone meanwhile
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parent, _ := strconv.Atoi(string(fields[1]))
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, Process{pid, parent, strings.Split(string(args), "\x00"), string(fields[0]) == "Z"})
	}
	return list
}

// Of finds those of the machine whose folder is dir, by their part, such as "sandbox".
func Of(t testing.TB, dir string) map[string]int {
	holders := lockHolders(t, filepath.Join(dir, "lock"))
	all := All(t)
	found := map[string]int{}
	for _, p := range all {
		if len(p.Args) > 1 && p.Args[1] == "run" && slices.Contains(holders, p.PID) {
			found["supervisor"] = p.PID
		}
	}
	child := func(of, name string, is func(Process) bool) {
		for _, p := range all {
			if found[of] != 0 && p.Parent == found[of] && is(p) {
				found[name] = p.PID
			}
		}
	}
	child("supervisor", "inner", func(p Process) bool { return true })
	child("inner", "sandbox", func(p Process) bool { return p.Args[0] == "runsc-sandbox" })
	child("inner", "gofer", func(p Process) bool { return p.Args[0] == "runsc-gofer" })
	return found
}

// lockHolders are who took a lock on a file.
func lockHolders(t testing.TB, path string) (pids []int) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line) // such as "1: FLOCK ADVISORY WRITE 123 fe:00:456 0 EOF"
		if len(fields) > 5 && strings.HasSuffix(fields[5], fmt.Sprintf(":%d", st.Ino)) {
			pid, _ := strconv.Atoi(fields[4])
			pids = append(pids, pid)
		}
	}
	return pids
}

// Started remembers the control groups of machines, so that leftovers of purged machines are found.
type Started struct {
	mu     sync.Mutex
	groups map[string]bool // control groups of theirs
}

// Note takes note of the machine whose folder that is, when it is in memory.
func (s *Started) Note(folder string) {
	group, _ := os.ReadFile(filepath.Join(folder, "lock"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[string]bool{}
	}
	if cgroup.IsName(string(group)) {
		s.groups[string(group)] = true
	}
}

// Leftovers waits until nothing is left of machines, and tells what stays, one line each. data is
// their data folder; stays, which may be nil, says which processes are no machine's.
func (s *Started) Leftovers(t testing.TB, data string, stays func(Process) bool) []string {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := append(leftProcesses(t, stays), leftFiles(t, data)...)
		s.mu.Lock()
		for name := range s.groups {
			groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
			nested, _ := filepath.Glob("/sys/fs/cgroup/*/*/*/" + name)
			if groups = append(groups, nested...); len(groups) == 0 {
				delete(s.groups, name) // for good, unless it is started again
			}
			left = append(left, groups...)
		}
		s.mu.Unlock()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// leftProcesses are all that descend from this one, but for a sandbox that waits for its machine.
func leftProcesses(t testing.TB, stays func(Process) bool) []string {
	ours := map[int]bool{os.Getpid(): true}
	var left []string
	for again := true; again; {
		again = false
		for _, p := range All(t) {
			if !ours[p.Parent] || ours[p.PID] || isSpare(p) || stays != nil && stays(p) {
				continue
			}
			if p.zombie {
				if p.Parent == os.Getpid() {
					_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil) // an orphan: elsewhere init does that
				}
				continue
			}
			ours[p.PID], again = true, true
			left = append(left, fmt.Sprintf("process %d %q", p.PID, p.Args))
		}
	}
	return left
}

// isSpare says whether a process is a supervisor that nobody has claimed.
func isSpare(p Process) bool {
	for _, arg := range p.Args {
		if folder, ok := strings.CutPrefix(arg, "-spare="); ok && folder != "" && p.Args[1] == "run" {
			_, err := os.Stat(folder)
			return err == nil
		}
	}
	return false
}

// leftFiles are mounts and what is half written.
func leftFiles(t testing.TB, data string) []string {
	var left []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, data) {
			left = append(left, "mount "+line)
		}
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if path == filepath.Join(data, "spares") {
			return filepath.SkipDir
		}
		if d != nil && (name == "scratch" || strings.HasSuffix(name, ".partial") || strings.HasSuffix(name, ".removed")) {
			left = append(left, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// Supervised waits until nothing is left of machines under a data folder whose processes descend
// from another program, and tells what stays. A sandbox that waits for its machine may stay.
func Supervised(t testing.TB, data string) []string {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := leftFiles(t, data)
		for _, p := range All(t) {
			if len(p.Args) > 1 && p.Args[1] == "run" && !isSpare(p) && strings.Contains(strings.Join(p.Args, " "), data) {
				left = append(left, fmt.Sprintf("process %d %q", p.PID, p.Args))
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}
