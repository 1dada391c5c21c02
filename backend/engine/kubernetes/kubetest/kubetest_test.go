//go:build system && linux

package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
)

// hold has a process start a cluster, say its folder and wait.
const hold = "KUBETEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(hold) != "" {
		c, err := start()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(c.Folder)
		select {}
	}
	os.Exit(Run(m))
}

const toolImage = "forevervm.test/tool:1"

// tool brings the image of testdata/tool into the cluster, and by more names.
func tool(t *testing.T, c *Cluster, names ...string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tool")
	build := exec.Command("go", "build", "-o", program, "./testdata/tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.Import(t, Image(t, toolImage, program), names...)
}

// claim asks for a volume of 8 MiB.
func claim(t *testing.T, c *Cluster, namespace, class string) {
	t.Helper()
	_, err := c.Client.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Mi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// pod is the tool as Pod Security calls restricted, as another user than the node's, with a volume
// at /data. localhost names a seccomp profile; without, it has the runtime's.
func pod(name, volume, localhost string) *corev1.Pod {
	no, yes, user := false, true, int64(1000)
	seccomp := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if localhost != "" {
		seccomp = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &localhost}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			HostUsers: &no, AutomountServiceAccountToken: &no, RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, RunAsNonRoot: &yes, SeccompProfile: seccomp,
			},
			Containers: []corev1.Container{{
				Name: "tool", Image: toolImage, ImagePullPolicy: corev1.PullNever,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume},
			}}},
		},
	}
}

// run waits until the pod is ready.
func run(t *testing.T, c *Cluster, namespace string, pod *corev1.Pod) {
	t.Helper()
	if _, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := until(func() error {
		now, err := c.Client.CoreV1().Pods(namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%+v", now.Status)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// do runs the tool once more in a running pod.
func do(t *testing.T, c *Cluster, namespace, pod, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	url := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Command: append([]string{"/program"}, args...), Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	socket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		t.Fatal(err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, complaint bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &complaint})
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &complaint)
	}
	return out.String(), err
}

func TestAPodKeepsItsVolume(t *testing.T) {
	c := Up(t)
	tool(t, c)
	namespace := c.Namespace(t)
	claim(t, c, namespace, "standard")
	run(t, c, namespace, pod("one", "standard", ""))
	if out, err := do(t, c, namespace, "one", "kept", "write", "/data/file"); err != nil || out != "1000" {
		t.Fatalf("%q, %v", out, err)
	}
	now := int64(0)
	if err := c.Client.CoreV1().Pods(namespace).Delete(t.Context(), "one", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	run(t, c, namespace, pod("two", "standard", ""))
	if out, err := do(t, c, namespace, "two", "", "read", "/data/file"); err != nil || out != "kept" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := do(t, c, namespace, "two", "", "read", "/data/none"); err == nil || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("what fails says %v", err)
	}
}

func TestAnImageIsGivenAName(t *testing.T) {
	c := Up(t)
	const other = "forevervm.test/other:1"
	tool(t, c, other)
	namespace := c.Namespace(t)
	claim(t, c, namespace, "standard")
	named := pod("one", "standard", "")
	named.Spec.Containers[0].Image = other
	run(t, c, namespace, named)
}

func TestASmallVolumeIsFull(t *testing.T) {
	c := Up(t)
	tool(t, c)
	namespace := c.Namespace(t)
	claim(t, c, namespace, "small")
	run(t, c, namespace, pod("one", "small", ""))
	if out, err := do(t, c, namespace, "one", "", "fill", "/data/file"); err != nil || out != "8" {
		t.Errorf("%q MiB, %v", out, err)
	}
}

// Whatever is claimed goes with its namespace.
func TestANamespaceLeavesNothing(t *testing.T) {
	c := Up(t)
	tool(t, c)
	t.Run("", func(t *testing.T) {
		namespace := c.Namespace(t)
		claim(t, c, namespace, "small")
		run(t, c, namespace, pod("one", "small", ""))
	})
	err := until(func() error {
		volumes, err := c.Client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		folders, err := filepath.Glob(filepath.Join(c.Folder, "volumes", "pvc-*"))
		if len(volumes.Items)+len(folders) > 0 {
			return fmt.Errorf("%d volumes and %q are left, %w", len(volumes.Items), folders, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPodSecurityIsRestricted(t *testing.T) {
	c := Up(t)
	namespace := c.Namespace(t)
	root := pod("root", "none", "")
	root.Spec.SecurityContext = nil
	_, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), root, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `PodSecurity "restricted`) {
		t.Errorf("it says %v", err)
	}
}

func TestProfile(t *testing.T) {
	c := Up(t)
	tool(t, c)
	namespace := c.Namespace(t)
	claim(t, c, namespace, "standard")
	c.Profile(t, "tests.json", []byte(`{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getuid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]}`))
	run(t, c, namespace, pod("one", "standard", "tests.json"))
	if out, err := do(t, c, namespace, "one", "", "write", "/data/file"); err != nil || out == "1000" {
		t.Errorf("with the profile it says %q, %v", out, err)
	}
	c.Profile(t, "tests.json", nil)
	claim(t, c, namespace, "small") // the other is the first pod's alone
	if _, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), pod("two", "small", "tests.json"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := until(func() error {
		now, err := c.Client.CoreV1().Pods(namespace).Get(t.Context(), "two", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, container := range now.Status.ContainerStatuses {
			if waits := container.State.Waiting; waits != nil && strings.Contains(waits.Message, "seccomp") {
				return nil
			}
		}
		return fmt.Errorf("%+v", now.Status)
	})
	if err != nil {
		t.Errorf("without the profile: %v", err)
	}
}

func TestProgramsAreKilled(t *testing.T) {
	c := Up(t)
	tool(t, c)
	namespace := c.Namespace(t)
	claim(t, c, namespace, "standard")
	run(t, c, namespace, pod("one", "standard", ""))
	for _, program := range []string{"kube-apiserver", "kubelet", "containerd"} {
		c.Kill(t, program)
		c.Await(t)
		if out, err := do(t, c, namespace, "one", program, "write", "/data/file"); err != nil || out != "1000" {
			t.Errorf("%s: %q, %v\n%s", program, out, err, c.logs())
		}
	}
}

func TestTheNodeIsLost(t *testing.T) {
	c := Up(t)
	c.Pause(t, "kubelet")
	err := until(func() error {
		node, err := c.Client.CoreV1().Nodes().Get(t.Context(), Node, metav1.GetOptions{})
		if err == nil && len(node.Spec.Taints) == 0 {
			err = errors.New("the node is not lost")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	c.Resume(t, "kubelet")
	c.Await(t)
}

func TestTheAPIServerHangs(t *testing.T) {
	c := Up(t)
	c.Pause(t, "kube-apiserver")
	if err := c.ready(); err == nil {
		t.Error("it answers")
	}
	c.Resume(t, "kube-apiserver")
	c.Await(t)
}

// Not even a process that is killed leaves something.
func TestNothingIsLeft(t *testing.T) {
	if _, err := built(); errors.Is(err, errNotBuilt) {
		t.Skip(err)
	}
	before := settings(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(self)
	other.Env = append(os.Environ(), hold+"=1")
	other.Stderr = t.Output()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	folder, err := bufio.NewReader(out).ReadString('\n')
	_ = other.Process.Kill()
	_ = other.Wait()
	if err != nil {
		t.Fatal(err)
	}
	folder = strings.TrimSpace(folder)
	if err := until(func() error { return left(folder) }); err != nil {
		t.Error(err)
	}
	if after := settings(t); after != before {
		t.Errorf("the computer's settings were %q and are %q", before, after)
	}
}

func TestAnEndLeavesNothing(t *testing.T) {
	c, err := start()
	if errors.Is(err, errNotBuilt) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := left(c.Folder); err == nil {
		t.Error("nothing of a running cluster is found")
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	if err := left(c.Folder); err != nil {
		t.Error(err)
	}
}

// left tells what there is of the cluster of a folder.
func left(folder string) error {
	name := []byte(filepath.Base(folder))
	var found []error
	for _, pattern := range []string{folder, "/sys/fs/cgroup/" + string(name), "/sys/fs/cgroup/*/" + string(name)} {
		paths, err := filepath.Glob(pattern)
		found = append(found, err)
		for _, path := range paths {
			found = append(found, fmt.Errorf("there is %s", path))
		}
	}
	for _, file := range []string{"cmdline", "cgroup", "mountinfo"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + file)
		found = append(found, err)
		for _, path := range paths {
			if text, _ := os.ReadFile(path); bytes.Contains(text, name) {
				found = append(found, fmt.Errorf("%s says %q", path, text))
			}
		}
	}
	return errors.Join(found...)
}

// settings are those of the computer that a kubelet changes.
func settings(t *testing.T) string {
	t.Helper()
	var all []string
	for _, path := range []string{
		"kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
		"net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom",
	} {
		value, err := os.ReadFile("/proc/sys/" + path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, path+"="+strings.TrimSpace(string(value)))
	}
	return strings.Join(all, " ")
}
