//go:build linux && system

package docker

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/sandbox"
)

// TestHardened is the table in README.md: what a container can see and do, as the kernel tells of a
// running one.
func TestHardened(t *testing.T) {
	e := newEngine(t, t.TempDir())
	own := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	ahead := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	own.Value("x = 1")
	ahead.Value("x = 2")
	t.Run("own", func(t *testing.T) { hardened(t, own, ahead) })
	t.Run("ahead", func(t *testing.T) { hardened(t, ahead, own) })
}

func hardened(t *testing.T, m, other *enginetest.InMemory) {
	api := dockerd.Client(t)
	info, err := api.ContainerInspect(t.Context(), m.Sandbox.(*Sandbox).container)
	if err != nil {
		t.Fatal(err)
	}
	proc := fmt.Sprintf("/proc/%d", info.State.Pid)
	status := enginetest.Status(t, info.State.Pid)
	mounts := enginetest.Mounts(t, info.State.Pid)
	rows := map[string]func(t *testing.T){
		"User": func(t *testing.T) {
			if status["Uid"] != "1000 1000 1000 1000" || status["Gid"] != "1000 1000 1000 1000" || status["Groups"] != "" && status["Groups"] != "1000" {
				t.Errorf("user %s, group %s, groups %s", status["Uid"], status["Gid"], status["Groups"])
			}
		},
		"Capabilities": func(t *testing.T) {
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
				if strings.Trim(status[set], "0") != "" {
					t.Errorf("%s is %s", set, status[set])
				}
			}
		},
		"NoNewPrivileges": func(t *testing.T) {
			if status["NoNewPrivs"] != "1" {
				t.Errorf("it is %q", status["NoNewPrivs"])
			}
		},
		"SystemCalls": func(t *testing.T) {
			if status["Seccomp"] != "2" || !slices.Contains(info.HostConfig.SecurityOpt, "seccomp="+seccompProfile) {
				t.Errorf("filter: %s", status["Seccomp"])
			}
		},
		"Files": func(t *testing.T) {
			files := enginetest.Files(t, proc+"/root/", "/proc", "/sys", "/dev", "/machine", "/template")
			want := []string{"/.dockerenv", "/etc/hostname", "/etc/hosts", "/etc/mtab", "/etc/resolv.conf", ociimage.Image, ociimage.Runsc, supervisorPath}
			if !slices.Equal(files, want) {
				t.Errorf("there are %q", files)
			}
		},
		"Writable": func(t *testing.T) {
			for point, mount := range mounts {
				system := slices.Contains([]string{"proc", "tmpfs", "devpts", "mqueue"}, mount.Kind) // Docker's own, root's alone
				if mount.Writable && point != machinePath && !system {
					t.Errorf("%s can be written to (%s)", point, mount.Kind)
				}
				if system && mount.Writable {
					if st, err := os.Stat(proc + "/root" + point); err == nil && st.IsDir() && st.Mode().Perm()&0o022 != 0 && !strings.HasPrefix(point, "/dev/mqueue") {
						t.Errorf("%s can be written to by all: %v", point, st.Mode())
					}
				}
			}
			if !mounts[machinePath].Writable || mounts["/"].Writable {
				t.Errorf("the mounts are %+v", mounts)
			}
		},
		"OtherMachines": func(t *testing.T) {
			if mounts[templatePath].Writable {
				t.Error("the template can be written to")
			}
			for _, p := range info.Mounts {
				if p.Destination != machinePath && p.Destination != templatePath || p.Name == other.Sandbox.(*Sandbox).volume {
					t.Errorf("it has the mount %+v", p)
				}
			}
		},
		"Network": func(t *testing.T) {
			own, err := os.Readlink("/proc/self/ns/net")
			theirs, _ := os.Readlink(proc + "/ns/net")
			if err != nil || own == theirs {
				t.Errorf("it has the computer's network: %s, %v", theirs, err)
			}
			devices, err := os.ReadFile(proc + "/net/dev")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(devices)) {
				if name, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "lo" && !slices.Contains([]string{"tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"}, strings.TrimSpace(name)) {
					t.Errorf("it has the network device %s", name)
				}
			}
		},
		"Processes": func(t *testing.T) {
			own, _ := os.Readlink("/proc/self/ns/pid")
			theirs, _ := os.Readlink(proc + "/ns/pid")
			if own == theirs || !strings.HasSuffix(status["NSpid"], " 1") {
				t.Errorf("name space %s, ids %s", theirs, status["NSpid"])
			}
		},
		"Devices": func(t *testing.T) {
			entries, err := os.ReadDir(proc + "/root/dev")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
				if info, err := e.Info(); err == nil && info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0 {
					t.Errorf("%s is a disk", e.Name())
				}
			}
			if extra := slices.DeleteFunc(names, func(s string) bool {
				return slices.Contains([]string{"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}, s)
			}); len(extra) > 0 {
				t.Errorf("there are %q", extra)
			}
		},
		"Limits": func(t *testing.T) {
			r := info.HostConfig.Resources
			if want := sandbox.HardLimit(512 << 20); r.Memory != want || r.MemorySwap != want || *r.PidsLimit != sandbox.PidsMax || r.CPUShares != 512 || r.NanoCPUs <= 0 {
				t.Errorf("they are %+v", r)
			}
			if err := m.SetMemoryLimit(enginetest.Bounded(t), 1024); err != nil {
				t.Fatal(err)
			}
			now, err := api.ContainerInspect(t.Context(), info.ID)
			if err != nil || now.HostConfig.Memory != sandbox.HardLimit(1024<<20) {
				t.Errorf("after it was raised: %+v, %v", now.HostConfig.Memory, err)
			}
		},
		"Docker": func(t *testing.T) {
			all, _ := json.Marshal(info.HostConfig)
			if strings.Contains(string(all), "docker.sock") || len(info.HostConfig.Binds) > 0 || info.HostConfig.Privileged || info.HostConfig.PidMode != "" {
				t.Errorf("it is given %s", all)
			}
		},
		"Logs": func(t *testing.T) {
			if _, err := api.ContainerLogs(t.Context(), info.ID, container.LogsOptions{ShowStdout: true}); err == nil || info.HostConfig.LogConfig.Type != "none" {
				t.Errorf("Docker keeps %+v, %v", info.HostConfig.LogConfig, err)
			}
		},
	}
	enginetest.Rows(t, "README.md", rows)
}
