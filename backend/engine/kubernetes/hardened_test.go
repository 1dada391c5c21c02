//go:build linux && system

package kubernetes

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/sandbox"
)

// TestHardened is the table in README.md: what a pod can see and do, as the kernel tells of a
// running one.
func TestHardened(t *testing.T) {
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	other := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 'a-word-of-the-link'")
	pid := processes(t, e, m.ID)["supervisor"]
	if pid == 0 {
		t.Fatal("its supervisor is not found")
	}
	pods := kubetest.Up(t).Client.CoreV1().Pods(e.Where().Namespace)
	name := m.Sandbox.(*Sandbox).pod
	pod, err := pods.Get(t.Context(), name, meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	proc := fmt.Sprintf("/proc/%d", pid)
	status, mounts := enginetest.Status(t, pid), enginetest.Mounts(t, pid)
	rows := map[string]func(t *testing.T){
		"User": func(t *testing.T) {
			if strings.HasPrefix(status["Uid"], "0 ") || strings.HasPrefix(status["Uid"], "1000 ") {
				t.Errorf("on the node it is user %s", status["Uid"])
			}
			ids, err := os.ReadFile(proc + "/uid_map")
			if err != nil || strings.Fields(string(ids))[1] == "0" {
				t.Errorf("its users are %q, %v", ids, err)
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
			if status["Seccomp"] != "2" || *pod.Spec.SecurityContext.SeccompProfile.LocalhostProfile != SeccompProfile {
				t.Errorf("filter: %s, %+v", status["Seccomp"], pod.Spec.SecurityContext.SeccompProfile)
			}
		},
		"Files": func(t *testing.T) {
			files := enginetest.Files(t, proc+"/root/", "/proc", "/sys", "/dev", "/machine", "/link")
			files = slices.DeleteFunc(files, func(path string) bool { return strings.HasPrefix(path, "/etc/") }) // names of this pod and its DNS
			want := []string{ociimage.Image, ociimage.Runsc, supervisorPath}
			if !slices.Equal(files, want) {
				t.Errorf("there are %q", files)
			}
			if _, err := os.Stat(proc + "/root/var/run/secrets"); !os.IsNotExist(err) {
				t.Errorf("it has a token of the cluster: %v", err)
			}
		},
		"Writable": func(t *testing.T) {
			for point, mount := range mounts {
				// Devices are the node's files, one mount each: a user name space makes none.
				system := slices.Contains([]string{"proc", "tmpfs", "devpts", "devtmpfs", "mqueue", "cgroup"}, mount.Kind)
				its := point == machinePath || point == linkFolder || point == "/dev/termination-log" || strings.HasPrefix(point, "/etc/")
				if mount.Writable && !system && !its {
					t.Errorf("%s can be written to (%s)", point, mount.Kind)
				}
			}
			if !mounts[machinePath].Writable || mounts["/"].Writable {
				t.Errorf("the mounts are %+v", mounts)
			}
		},
		"OtherMachines": func(t *testing.T) {
			for _, v := range pod.Spec.Volumes {
				if c := v.PersistentVolumeClaim; c != nil && c.ClaimName != name || v.HostPath != nil || v.Secret != nil || v.Projected != nil {
					t.Errorf("it has the volume %+v", v)
				}
			}
			if name == other.Sandbox.(*Sandbox).pod {
				t.Error("two machines have one volume")
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
			for _, one := range entries {
				if info, err := one.Info(); err == nil && info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0 {
					t.Errorf("%s is a disk", one.Name())
				}
			}
		},
		"Limits": func(t *testing.T) {
			r := pod.Spec.Containers[0].Resources.Limits
			if r.Memory().Value() != sandbox.HardLimit(512<<20) || r.Cpu().Value() != defaultProcessors {
				t.Errorf("they are %v", r)
			}
		},
		"Logs": func(t *testing.T) {
			m.Expect("x", "'a-word-of-the-link'")
			log, err := pods.GetLogs(name, &core.PodLogOptions{}).DoRaw(t.Context())
			if err != nil || len(log) > 0 {
				t.Errorf("the node keeps %q, %v", log, err)
			}
		},
	}
	enginetest.Rows(t, "README.md", rows)
}
