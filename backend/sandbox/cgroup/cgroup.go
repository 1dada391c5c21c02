//go:build linux

// Package cgroup holds a machine's processes within limits from outside, where the system lets us:
// cgroup v2 where a parent of ours is delegated to the user (systemd does that), cgroup v1 for
// root. Everything is tried and nothing is needed: a system that offers nothing leaves the machine
// to the limits inside and to the watchdog.
package cgroup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits are what a group is held to; zero for no limit.
type Limits struct {
	MemoryMax int64 // bytes
	PidsMax   int64 // processes and threads
	// Weight is the share of the processor when others want it too, 100 being everyone's.
	Weight int64
	// Processors is how many processors' time may be used at most, such as 1.5.
	Processors float64
}

// Group is a set of control groups, one a hierarchy, that one supervisor and its sandbox are in.
type Group struct {
	folders []string          // ours
	origin  map[string]string // for each of ours, the one that we came from
	hard    map[string]bool   // controllers that hold: "memory", "pids", "cpu"
}

// Name is the group's name for a supervisor's folder.
func Name(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return prefix + hex.EncodeToString(sum[:8])
}

const prefix = "forevervm-"

// IsName says whether Name could have made this.
func IsName(name string) bool {
	sum, ok := strings.CutPrefix(name, prefix)
	b, err := hex.DecodeString(sum)
	return ok && err == nil && len(b) == 8
}

// Enter makes the group and moves the calling process into it. What cannot be had is left out.
func Enter(name string, limits Limits) *Group {
	g := &Group{origin: map[string]string{}, hard: map[string]bool{}}
	for _, h := range hierarchies() {
		if !g.enter(h, name, limits) {
			g.enter(h, name, limits) // it may have been swept before anything was in it
		}
	}
	return g
}

// allName is the group that holds the groups of all machines.
const allName = "forevervm"

// LimitAll holds the machines together to so many bytes of memory: those that enter a group from
// now on, and those that did after an earlier call. Where the system offers no group for that,
// nothing happens.
func LimitAll(bytes int64) {
	for _, h := range outermost() {
		if !slices.Contains(h.controllers, "memory") {
			continue
		}
		dir := filepath.Join(h.parent, allName)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			continue
		}
		for _, s := range h.settings(Limits{MemoryMax: bytes}) {
			_ = os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0o644)
		}
		if h.unified { // what is in it gets limits of its own, too
			for _, c := range h.controllers {
				_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644)
			}
		}
	}
}

// Sweep removes the empty groups that killed supervisors left, and that of all machines where there
// are none.
func Sweep() {
	for _, h := range outermost() {
		all := filepath.Join(h.parent, allName)
		for _, parent := range []string{all, h.parent} {
			left, _ := os.ReadDir(parent) // it may not be there
			for _, e := range left {
				if IsName(e.Name()) {
					_ = os.Remove(filepath.Join(parent, e.Name())) // fails where something is in it
				}
			}
		}
		_ = os.Remove(all)
	}
}

// Holds says whether the limit of a controller ("memory", "pids", "cpu") is in force.
func (g *Group) Holds(controller string) bool { return g.hard[controller] }

// OOMKills opens the file that tells how many processes of the group the system ended because the
// group's memory limit was reached; ParseOOMKills reads it. Nil where there is no limit.
func (g *Group) OOMKills() *os.File { return openOOMKills(g.folders...) }

// ContainerOOMKills is OOMKills of the container that the caller is in, whose group it may only
// read.
func ContainerOOMKills() *os.File { return openOOMKills("/sys/fs/cgroup", "/sys/fs/cgroup/memory") }

func openOOMKills(folders ...string) *os.File {
	for _, dir := range folders {
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			if f, err := os.Open(filepath.Join(dir, name)); err == nil {
				return f
			}
		}
	}
	return nil
}

// ContainerMemory tells the limit of the container that the caller is in, and how much of it is in
// use, in bytes. What the system can take back at once, such as a cache of files, is not in use.
// The limit is 0 where there is none.
func ContainerMemory() (limit, used int64) {
	return containerMemory("/sys/fs/cgroup", "/sys/fs/cgroup/memory")
}

func containerMemory(folders ...string) (limit, used int64) {
	for _, dir := range folders {
		for _, names := range [][2]string{{"memory.max", "memory.current"}, {"memory.limit_in_bytes", "memory.usage_in_bytes"}} {
			limit, used = number(filepath.Join(dir, names[0])), number(filepath.Join(dir, names[1]))
			if limit <= 0 || used <= 0 {
				continue
			}
			cache := int64(0)
			stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
			for line := range strings.Lines(string(stat)) {
				// Version 1 tells the group's own, and under the longer name that of those below,
				// too.
				if n, ok := strings.CutPrefix(strings.TrimPrefix(line, "total_"), "inactive_file "); ok {
					cache, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				}
			}
			return limit, max(0, used-cache)
		}
	}
	return 0, 0
}

// number reads a file that holds one; 0 where it does not.
func number(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// MemoryMax opens the file that the group's memory limit can be changed by, writing a number of
// bytes. Nil where there is no limit.
func (g *Group) MemoryMax() *os.File {
	for _, dir := range g.folders {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0); err == nil {
				return f
			}
		}
	}
	return nil
}

// ParseOOMKills reads the number out of what that file holds.
func ParseOOMKills(content []byte) int {
	for line := range strings.Lines(string(content)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ := strconv.Atoi(strings.TrimSpace(n))
			return kills
		}
	}
	return 0
}

// Leave moves the calling process back to where it came from and removes the group, whose other
// processes must be ending.
func (g *Group) Leave() error {
	var errs []error
	deadline := time.Now().Add(removePatience)
	for _, dir := range g.folders {
		err := join(g.origin[dir])
		if err == nil { // else we are in it, and it stays: that where we came from may be gone, as a session's is after the last of its processes
			err = removeBy(deadline, dir)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Folders are those that the group's files, and what Leave needs, lie in.
func (g *Group) Folders() []string {
	var all []string
	for _, dir := range g.folders {
		all = append(all, filepath.Dir(dir), g.origin[dir])
	}
	return all
}

// removePatience bounds how long the last processes of a group may take to be gone.
const removePatience = 15 * time.Second

// Remove removes the groups of that name that a killed supervisor left. It waits for processes that
// are just dying; groups with living ones stay.
func Remove(name string) {
	var parents []string
	for _, h := range hierarchies() {
		parents = append(parents, h.parent)
	}
	remove(parents, name)
}

// RemoveBeside is Remove for who is in this group.
func (g *Group) RemoveBeside(name string) {
	var parents []string
	for _, dir := range g.folders {
		parents = append(parents, filepath.Dir(dir))
	}
	remove(parents, name)
}

func remove(parents []string, name string) {
	deadline := time.Now().Add(removePatience)
	for _, parent := range parents {
		_ = removeBy(deadline, filepath.Join(parent, name)) // it may not be there
	}
}

// removeBy removes a group as soon as the last of its processes is gone.
func removeBy(deadline time.Time, dir string) error {
	for {
		err := os.Remove(dir)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// enter says whether it is of no use to try again.
func (g *Group) enter(h hierarchy, name string, limits Limits) bool {
	dir := filepath.Join(h.parent, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return true
	}
	held := map[string]bool{}
	for _, s := range h.settings(limits) {
		if os.WriteFile(filepath.Join(dir, s.file), []byte(s.value), 0o644) == nil {
			held[s.controller] = true
		}
	}
	err := errNothingHeld
	if len(held) > 0 {
		err = join(dir)
	}
	if err != nil {
		_ = os.Remove(dir)
		return !errors.Is(err, os.ErrNotExist)
	}
	g.folders = append(g.folders, dir)
	g.origin[dir] = h.own
	for c := range held {
		g.hard[c] = true
	}
	return true
}

var errNothingHeld = errors.New("no limit could be set")

func join(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644)
}

// hierarchy is one tree of control groups that we may be able to make groups in.
type hierarchy struct {
	own         string // the group that we are in
	parent      string // where a new one goes
	controllers []string
	unified     bool
}

type setting struct{ controller, file, value string }

// cpuPeriod is within what time the processors' is counted, in microseconds.
const cpuPeriod = 100_000

func (h hierarchy) settings(l Limits) []setting {
	var all []setting
	add := func(controller, file string, format string, value int64) {
		if value > 0 && slices.Contains(h.controllers, controller) {
			all = append(all, setting{controller, file, fmt.Sprintf(format, value)})
		}
	}
	// What was not used may be used later, as much as is given at once: a machine that wakes needs
	// all processors for a moment.
	quota := int64(l.Processors * cpuPeriod)
	add("pids", "pids.max", "%d", l.PidsMax)
	if h.unified {
		add("memory", "memory.max", "%d", l.MemoryMax)
		add("cpu", "cpu.weight", "%d", l.Weight)
		add("cpu", "cpu.max", "%d "+strconv.Itoa(cpuPeriod), quota)
		add("cpu", "cpu.max.burst", "%d", quota)
	} else {
		add("memory", "memory.limit_in_bytes", "%d", l.MemoryMax)
		add("cpu", "cpu.shares", "%d", l.Weight*1024/100)
		add("cpu", "cpu.cfs_period_us", "%d", cpuPeriod)
		add("cpu", "cpu.cfs_quota_us", "%d", quota)
		add("cpu", "cpu.cfs_burst_us", "%d", quota)
	}
	return all
}

// hierarchies are the trees of control groups, with the group of all machines as the parent where
// it is there.
func hierarchies() []hierarchy {
	list := outermost()
	for i, h := range list {
		dir := filepath.Join(h.parent, allName)
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if h.unified {
			b, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
			if err != nil || !slices.Contains(strings.Fields(string(b)), "memory") {
				continue
			}
			list[i].controllers = strings.Fields(string(b))
		}
		list[i].parent = dir
	}
	return list
}

// outermost reads from /proc which trees there are and where in them we are.
func outermost() []hierarchy {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []hierarchy
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" {
			list = append(list, unified(parts[2])...)
			continue
		}
		own := filepath.Join("/sys/fs/cgroup", parts[1], parts[2])
		list = append(list, hierarchy{own: own, parent: own, controllers: strings.Split(parts[1], ",")})
	}
	return list
}

// unified describes cgroup v2. A group with processes cannot hand controllers to its children
// there, so ours goes beside the one that we are in, where systemd has handed them out already.
func unified(path string) []hierarchy {
	root := "/sys/fs/cgroup"
	own := filepath.Join(root, path)
	parent := filepath.Dir(own)
	if path == "/" {
		parent = own
	}
	b, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	return []hierarchy{{own: own, parent: parent, controllers: strings.Fields(string(b)), unified: true}}
}
