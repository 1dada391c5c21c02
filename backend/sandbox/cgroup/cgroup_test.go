//go:build linux

package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program that enters a group, as a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "enter" {
		enterAndTell(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// enterAndTell enters a group, prints which limits hold and which groups it is in, waits for its
// stdin to end, and leaves.
func enterAndTell(name string) {
	g := Enter(name, Limits{MemoryMax: 64 << 20, PidsMax: 50, Weight: 50, Processors: 1.5})
	fmt.Println(g.Holds("memory"), g.Holds("pids"), g.Holds("cpu"))
	b, _ := os.ReadFile("/proc/self/cgroup")
	fmt.Print(string(b))
	fmt.Println("entered")
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := g.Leave(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func groups(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, h := range hierarchies() {
		if _, err := os.Stat(filepath.Join(h.parent, name)); err == nil {
			found = append(found, filepath.Join(h.parent, name))
		}
	}
	return found
}

func start(t *testing.T, name string) (cmd *exec.Cmd, told string, release func()) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe", "enter", name)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for !strings.Contains(told, "entered\n") {
		n, err := stdout.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, told)
		}
		told += string(buf[:n])
	}
	return cmd, told, func() { stdin.Close() }
}

func TestEnterAndLeave(t *testing.T) {
	name := Name(t.TempDir())
	cmd, told, release := start(t, name)
	holds := strings.Contains(strings.SplitN(told, "\n", 2)[0], "true")
	if in := strings.Contains(told, name); in != holds {
		t.Errorf("limits hold: %v, in a group: %v\n%s", holds, in, told)
	}
	if holds != (len(groups(t, name)) > 0) {
		t.Errorf("limits hold: %v, groups %v", holds, groups(t, name))
	}
	for _, dir := range groups(t, name) {
		for file, want := range map[string]string{
			"memory.max": "67108864", "pids.max": "50", "cpu.weight": "50", "cpu.max": "150000 100000",
			"memory.limit_in_bytes": "67108864", "cpu.shares": "512", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000", "cpu.cfs_burst_us": "150000",
		} {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if got := strings.TrimSpace(string(b)); err == nil && got != want {
				t.Errorf("%s of %s is %q, not %q", file, dir, got, want)
			}
		}
	}
	if os.Getuid() == 0 && !holds {
		t.Log("this system offers root no control group; only that nothing breaks is tested")
	}
	release()
	if err := cmd.Wait(); err != nil {
		t.Errorf("leave: %v", err)
	}
	if left := groups(t, name); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRemoveAfterAKill(t *testing.T) {
	name := Name(t.TempDir())
	cmd, _, release := start(t, name)
	defer release()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	Remove(name)
	if left := groups(t, name); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	Remove(name) // of nothing is nothing
}

// All machines are held to a limit together, and what killed supervisors left is swept: what is
// empty, and nothing else.
func TestAllAreLimitedTogetherAndSwept(t *testing.T) {
	lives, killed := Name(t.TempDir()), Name(t.TempDir())
	LimitAll(8 << 30)
	cmd, told, release := start(t, lives)
	other, _, releaseOther := start(t, killed)
	defer releaseOther()
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	limited := false
	for _, dir := range groups(t, lives) {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file)); err == nil && filepath.Base(filepath.Dir(dir)) == allName {
				limited = true
				if got := strings.TrimSpace(string(b)); got != "8589934592" {
					t.Errorf("together they may have %s", got)
				}
			}
		}
	}
	if holds := strings.HasPrefix(told, "true"); limited != holds {
		t.Errorf("memory is limited: %v, that of all: %v\n%s", holds, limited, told)
	}
	for deadline := time.Now().Add(removePatience); len(groups(t, killed)) > 0 && time.Now().Before(deadline); { // its last process may be dying yet
		Sweep()
	}
	if left := groups(t, killed); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if limited && len(groups(t, lives)) == 0 {
		t.Error("a group in use was swept")
	}
	release()
	if err := cmd.Wait(); err != nil {
		t.Errorf("leave: %v", err)
	}
	Sweep()
}

func TestContainerMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files       map[string]string
		limit, used int64
	}{
		"version 2": {map[string]string{"memory.max": "3000\n", "memory.current": "1000\n", "memory.stat": "anon 5\ninactive_file 400\n"}, 3000, 600},
		"version 1": {map[string]string{
			"memory.limit_in_bytes": "3000\n", "memory.usage_in_bytes": "1000\n", "memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
		}, 3000, 700},
		"no limit":  {map[string]string{"memory.max": "max\n", "memory.current": "1000\n"}, 0, 0},
		"no cgroup": {nil, 0, 0},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if limit, used := containerMemory(filepath.Join(dir, "elsewhere"), dir); limit != c.limit || used != c.used {
			t.Errorf("%s: %d of %d are in use", name, used, limit)
		}
	}
}

func TestParseOOMKills(t *testing.T) {
	for content, want := range map[string]int{
		"": 0, "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n": 2, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n": 1,
	} {
		if got := ParseOOMKills([]byte(content)); got != want {
			t.Errorf("%q has %d kills, not %d", content, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	limits := Limits{MemoryMax: 64 << 20, PidsMax: 50, Weight: 50, Processors: 1.5}
	for want, h := range map[string]hierarchy{
		"[{pids pids.max 50} {memory memory.max 67108864} {cpu cpu.weight 50} {cpu cpu.max 150000 100000} {cpu cpu.max.burst 150000}]": {unified: true, controllers: []string{"cpu", "memory", "pids"}},
		"[{cpu cpu.shares 512} {cpu cpu.cfs_period_us 100000} {cpu cpu.cfs_quota_us 150000} {cpu cpu.cfs_burst_us 150000}]":            {controllers: []string{"cpu", "cpuacct"}},
		"[]": {controllers: []string{"freezer"}},
	} {
		if got := fmt.Sprint(h.settings(limits)); got != want {
			t.Errorf("%v is held by %s, not %s", h.controllers, got, want)
		}
	}
	if got := (hierarchy{unified: true, controllers: []string{"cpu", "memory", "pids"}}).settings(Limits{}); len(got) > 0 {
		t.Errorf("no limits are %v", got)
	}
}

func TestNames(t *testing.T) {
	a, b := Name("/a"), Name("/b")
	if a == b || a != Name("/a") || strings.ContainsAny(a, "/ ") {
		t.Errorf("names %q and %q", a, b)
	}
}
