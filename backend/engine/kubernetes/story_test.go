//go:build linux && system

package kubernetes

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	cluster := kubetest.Up(t)
	shipped := newEngine(t, t.TempDir()) // its image is in the cluster
	bin := hometest.Bin(t, "forevervm", "supervisor", "runsc", "image/base.erofs")
	home := t.TempDir()
	known, err := os.ReadFile(filepath.Join(shipped.store.Config().Data, imagesFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "data", imagesFile), known, 0o600); err != nil {
		t.Fatal(err)
	}
	cli := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "forevervm"), append([]string{"--home", home}, args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("forevervm %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
		}
		return strings.TrimSpace(string(out))
	}
	t.Cleanup(func() { cli("stop") })
	expect := func(machine, code, want string) {
		t.Helper()
		if got := cli("exec", machine, code); got != want {
			t.Errorf("%s on %s gives %q", code, machine, got)
		}
	}

	// The filter comes by the manifest's DaemonSet, into the folder that this kubelet has.
	cluster.Profile(t, SeccompProfile, nil)
	const namespace = "story"
	manifest := cli("kubernetes", "manifest", "--namespace", namespace, "--repository", repository)
	manifest = strings.ReplaceAll(manifest, "/var/lib/kubelet/seccomp", filepath.Join(cluster.Folder, "kubelet", "seccomp"))
	cluster.Kubectl(t, manifest, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, manifest, "delete", "--wait", "-f", "-") })
	cluster.Kubectl(t, "", "--namespace", namespace+"-nodes", "rollout", "status", "--timeout=3m", "daemonset/seccomp")

	config := asAccount(t, cluster, namespace)
	place := []string{"places", "add", "kubernetes", "company", "--kubeconfig", config, "--namespace", namespace, "--repository", repository, "--storage-class", "standard", "--yes"}
	if said := cli(place...); !strings.Contains(said, "A first machine ran at company") {
		t.Errorf("it says %q", said)
	}
	if said := cli("places", "list"); !strings.Contains(said, "kubernetes:company  works") {
		t.Errorf("the places are %q", said)
	}
	if said := cli("doctor"); !strings.Contains(said, "engine kubernetes:company: It can run machines.") {
		t.Errorf("the doctor says %q", said)
	}

	cli("machine", "new", "--name", "far", "--engine", "kubernetes:company")
	expect("far", "x = 41\nx + 1", "42")
	killDaemon(t, cli("doctor"))
	expect("far", "x", "41")

	cli("machine", "copy", "far", "--name", "second")
	expect("second", "x += 1; x", "42")
	cli("machine", "move", "far", "--to", "native")
	expect("far", "x", "41")
	cli("machine", "move", "far", "--to", "kubernetes:company")
	expect("far", "import pandas as pd; int(pd.Series([x]).sum())", "41")
	cli("machine", "sleep", "far")
	cli("machine", "sleep", "second")
	pods, err := cluster.Client.CoreV1().Pods(namespace).List(t.Context(), meta.ListOptions{LabelSelector: machineLabel})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			t.Errorf("the pod %s is there while all machines sleep", pod.Name)
		}
	}

	for _, name := range []string{"far", "second"} {
		cli("machine", "purge", name, "--yes")
	}
	cli("places", "remove", "kubernetes:company")
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
