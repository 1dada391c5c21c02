//go:build linux && system

package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/home/hometest"
)

// TestStory is docs/kubernetes.md: an administrator applies the manifest, a person with the rights
// that it grants adds the cluster, and uses machines there by the command line. The daemon is
// killed meanwhile.
func TestStory(t *testing.T) {
	p := newPerson(t, "story", importImage)
	if said := p.cli(p.place("company")...); !strings.Contains(said, "A first machine ran at company") {
		t.Errorf("it says %q", said)
	}
	if said := p.cli("places", "list"); !strings.Contains(said, "kubernetes:company  works") {
		t.Errorf("the places are %q", said)
	}
	if said := p.cli("doctor"); !strings.Contains(said, "engine kubernetes:company: It can run machines.") {
		t.Errorf("the doctor says %q", said)
	}

	p.cli("machine", "new", "--name", "far", "--engine", "kubernetes:company")
	p.expect("far", "x = 41\nx + 1", "42")
	killDaemon(t, p.cli("doctor"))
	p.expect("far", "x", "41")

	p.cli("machine", "copy", "far", "--name", "second")
	p.expect("second", "x += 1; x", "42")
	p.cli("machine", "move", "far", "--to", "native")
	p.expect("far", "x", "41")
	p.cli("machine", "move", "far", "--to", "kubernetes:company")
	p.expect("far", "import pandas as pd; int(pd.Series([x]).sum())", "41")
	p.cli("machine", "sleep", "far")
	p.cli("machine", "sleep", "second")
	for _, pod := range p.pods(machineLabel) {
		if pod.DeletionTimestamp == nil {
			t.Errorf("the pod %s is there while all machines sleep", pod.Name)
		}
	}

	for _, name := range []string{"far", "second"} {
		p.cli("machine", "purge", name, "--yes")
	}
	p.cli("places", "remove", "kubernetes:company")
}

// A place that keeps its machines has them in one pod, and their states in one volume. Neither the
// end of the daemon nor that of the pod loses anything.
func TestKeptInTheCluster(t *testing.T) {
	p := newPerson(t, "kept", importHost, "--keep")
	if said := p.cli(append(p.place("company"), "--keep", "--disk", "5", "--memory", "3")...); !strings.Contains(said, "A first machine ran at company") {
		t.Errorf("it says %q", said)
	}
	if said := p.cli("places", "list"); !strings.Contains(said, "cluster:company  works") {
		t.Errorf("the places are %q", said)
	}

	p.cli("machine", "new", "--name", "far", "--engine", "cluster:company")
	p.expect("far", "open('note', 'w').write('kept')\nx = 41\nx + 1", "42")
	killDaemon(t, p.cli("doctor"))
	p.expect("far", "x", "41")
	p.cli("machine", "copy", "far", "--name", "second")
	p.expect("second", "x += 1; x", "42")

	pods := p.pods(hostLabel)
	if len(pods) != 1 || len(p.pods(machineLabel)) > 0 {
		t.Fatalf("there are %d pods of the place, and %d of machines", len(pods), len(p.pods(machineLabel)))
	}
	// As a node is drained.
	p.cluster.Kubectl(t, "", "--namespace", p.namespace, "delete", "pod", pods[0].Name)
	p.expect("far", "x, open('note').read()", "(41, 'kept')")
	p.expect("second", "x", "42")
	// As a node is lost: the machines go on from what they saved last.
	p.cli("machine", "sleep", "far")
	p.cluster.Kubectl(t, "", "--namespace", p.namespace, "delete", "pod", pods[0].Name, "--grace-period=0", "--force")
	p.expect("far", "x", "41")

	// With more memory, the pod is another.
	p.cli(append(p.place("company"), "--keep", "--disk", "5", "--memory", "4")...)
	p.expect("far", "x, open('note').read()", "(41, 'kept')")
	pods = p.pods(hostLabel)
	if len(pods) != 1 || pods[0].Spec.Containers[0].Resources.Limits.Memory().Value() != 4<<30 {
		t.Fatalf("the pods are %v", pods)
	}
	// While all machines sleep, there is none.
	for _, name := range []string{"far", "second"} {
		p.cli("machine", "sleep", name)
	}
	p.cluster.Kubectl(t, "", "--namespace", p.namespace, "wait", "--for=delete", "--timeout=5m", "pod/"+pods[0].Name)
	p.expect("far", "x", "41")

	at, err := filepath.Glob(filepath.Join(p.home, "data", "machines", "*", "*"))
	if err != nil || len(at) > 0 {
		t.Errorf("states came home: %v, %v", at, err)
	}
	p.cli("machine", "move", "far", "--to", "native")
	p.expect("far", "x", "41")
	p.cli("machine", "move", "far", "--to", "cluster:company")
	p.expect("far", "import pandas as pd; int(pd.Series([x]).sum())", "41")

	for _, name := range []string{"far", "second"} {
		p.cli("machine", "purge", name, "--yes")
	}
	p.cli("places", "remove", "cluster:company")
	volumes, err := p.cluster.Client.CoreV1().PersistentVolumeClaims(p.namespace).List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range volumes.Items {
		if one.DeletionTimestamp == nil {
			t.Errorf("the volume %s is left", one.Name)
		}
	}
}

// person is somebody with the rights that the manifest grants in a namespace.
type person struct {
	testing.TB
	cluster         *kubetest.Cluster
	home, namespace string
	bin, kubeconfig string
}

// newPerson applies the manifest, as an administrator does. The filter comes by its DaemonSet, into
// the folder that this kubelet has. push puts more images than the sandbox's where the cluster
// finds them.
func newPerson(t *testing.T, namespace string, push func(testing.TB, *Engine), manifested ...string) *person {
	t.Helper()
	p := &person{
		TB: t, cluster: kubetest.Up(t), home: t.TempDir(), namespace: namespace,
		bin: hometest.Bin(t, "forevervm", "supervisor", "agent", "runsc", "image/base.erofs"),
	}
	shipped := newEngine(t, t.TempDir())
	push(t, shipped)
	known, err := os.ReadFile(filepath.Join(shipped.store.Config().Data, imagesFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(p.home, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, "data", imagesFile), known, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.cli("stop")
		if log, err := os.ReadFile(filepath.Join(p.home, "data", "logs", "daemon.log")); t.Failed() && err == nil {
			fmt.Fprintf(t.Output(), "the daemon's log:\n%s", log)
		}
	})

	p.cluster.Profile(t, SeccompProfile, nil)
	manifest := p.cli(append([]string{"kubernetes", "manifest", "--namespace", namespace, "--repository", repository}, manifested...)...)
	manifest = strings.ReplaceAll(manifest, "/var/lib/kubelet/seccomp", filepath.Join(p.cluster.Folder, "kubelet", "seccomp"))
	p.cluster.Kubectl(t, manifest, "apply", "-f", "-")
	t.Cleanup(func() { p.cluster.Kubectl(t, manifest, "delete", "--wait", "-f", "-") })
	p.cluster.Kubectl(t, "", "--namespace", namespace+"-nodes", "rollout", "status", "--timeout=3m", "daemonset/seccomp")
	p.kubeconfig = asAccount(t, p.cluster, namespace)
	return p
}

// cli runs a command, and returns what it printed.
func (p *person) cli(args ...string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "forevervm"), append([]string{"--home", p.home}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("forevervm %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// place is the command that adds the cluster under a name.
func (p *person) place(name string) []string {
	return []string{"places", "add", "kubernetes", name, "--kubeconfig", p.kubeconfig, "--namespace", p.namespace, "--repository", repository, "--storage-class", "standard", "--yes"}
}

func (p *person) expect(machine, code, want string) {
	p.Helper()
	if got := p.cli("exec", machine, code); got != want {
		p.Errorf("%s on %s gives %q", code, machine, got)
	}
}

// pods are those with a label.
func (p *person) pods(label string) []core.Pod {
	p.Helper()
	pods, err := p.cluster.Client.CoreV1().Pods(p.namespace).List(p.Context(), meta.ListOptions{LabelSelector: label})
	if err != nil {
		p.Fatal(err)
	}
	return pods.Items
}

// asAccount makes a kubeconfig of the service account that the manifest gives the rights to.
func asAccount(t *testing.T, cluster *kubetest.Cluster, namespace string) string {
	t.Helper()
	token := strings.TrimSpace(cluster.Kubectl(t, "", "--namespace", namespace, "create", "token", "forevervm"))
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// killDaemon kills the daemon whose process the doctor tells of.
func killDaemon(t *testing.T, doctor string) {
	t.Helper()
	found := regexp.MustCompile(`process (\d+)`).FindStringSubmatch(doctor)
	if found == nil {
		t.Fatalf("no process in %q", doctor)
	}
	pid, err := strconv.Atoi(found[1])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}
