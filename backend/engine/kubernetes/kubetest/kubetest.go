//go:build linux

// Package kubetest gives tests a real Kubernetes of one node. It runs in name spaces of its own, so
// whatever else runs on the computer is not disturbed, and ends with the tests' process. What it
// runs, build/kubernetes builds.
package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a Kubernetes for tests. Its StorageClasses are "standard", folders without a limit,
// and "small", whose volumes hold as much as the claim asks for and then are full. Both bind when a
// pod needs the volume. Its node is named Node. Pods reach each other and nothing outside.
type Cluster struct {
	// Kubeconfig is the path of an administrator's. It names a port of the loopback; all else of
	// the cluster is out of reach.
	Kubeconfig string
	// Folder is where the cluster has all that it has; log/ is what its programs wrote.
	Folder string
	// Client is an administrator's.
	Client kubernetes.Interface

	binaries string
	tie      io.Closer     // while it is open, the node is held
	ended    chan struct{} // closed when the node has ended and all is removed
	endErr   error
	door     *door
}

// Node is the name of the node.
const Node = "node1"

// patience is how long anything may take on a busy computer.
const patience = 2 * time.Minute

// pace is how often a condition is looked at.
const pace = 20 * time.Millisecond

var shared struct {
	sync.Mutex
	tried   bool
	cluster *Cluster
	err     error
}

// errNotBuilt is not a failure: from nothing, CI has no time to build it.
var errNotBuilt = errors.New("Kubernetes is not built here: `make test-kubernetes` builds it, in 7 minutes, and runs this")

// Up gives the tests of this process their one cluster. The first to ask starts it, and skips where
// it is not built. It ends with the process; TestMain calls Run, which waits for that.
func Up(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.tried {
		began := time.Now()
		shared.tried = true
		if shared.cluster, shared.err = start(); shared.err == nil {
			t.Logf("Kubernetes started within %v", time.Since(began).Round(time.Millisecond))
		}
	}
	if errors.Is(shared.err, errNotBuilt) {
		t.Skip(shared.err)
	} else if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Run runs a package's tests, ends their cluster, and returns the exit status. It fails where
// something of the cluster is left.
func Run(m *testing.M) int {
	status := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		if err := shared.cluster.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "kubetest:", err)
			return max(status, 1)
		}
	}
	return status
}

// start returns when pods can be made.
func start() (*Cluster, error) {
	binaries, err := built()
	if err != nil {
		return nil, err
	}
	if os.Getuid() != 0 {
		return nil, errors.New("only root can start a Kubernetes")
	}
	folder, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Kubeconfig: filepath.Join(folder, "kubeconfig"), Folder: folder, binaries: binaries, ended: make(chan struct{})}
	if err := c.run(); err != nil {
		logs := c.logs()
		return nil, errors.Join(fmt.Errorf("start Kubernetes: %w\n%s", err, logs), c.stop(), os.RemoveAll(folder))
	}
	return c, nil
}

// built is the folder of the programs.
func built() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for { // tests run in their package's folder
		script := filepath.Join(folder, "build", "kubernetes", "build.sh")
		if _, err := os.Stat(script); err == nil {
			out, err := exec.Command(script, "where").Output()
			if err != nil {
				return "", err
			}
			binaries := strings.TrimSpace(string(out))
			if _, err := os.Stat(binaries); errors.Is(err, fs.ErrNotExist) {
				return "", errNotBuilt
			}
			return binaries, nil
		}
		if filepath.Dir(folder) == folder {
			return "", errors.New("kubetest: build/kubernetes/build.sh is in no folder above")
		}
		folder = filepath.Dir(folder)
	}
}

func (c *Cluster) run() (err error) {
	// A container's root is another user, who goes through this folder to what is its own.
	if err := os.Chmod(c.Folder, 0o711); err != nil {
		return err
	}
	if c.door, err = openDoor(filepath.Join(c.Folder, "apiserver.sock")); err != nil {
		return err
	}
	if err := write(c.Folder, c.binaries, c.door.address()); err != nil {
		return err
	}
	if err := c.startNode(); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = 5 * time.Second // a paused API server takes connections and says nothing
	config.QPS = -1
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	pause := filepath.Join(c.Folder, "pause.tar")
	if err := writeImage(pause, pauseImage, filepath.Join(c.binaries, "pause")); err != nil {
		return err
	}
	if err := until(c.containerd); err != nil {
		return err
	}
	if err := c.ctr(patience, "images", "import", "--local", pause); err != nil {
		return err
	}
	if err := until(c.ready); err != nil {
		return err
	}
	return until(c.storageClasses)
}

// startNode starts hold.sh, which starts node.sh.
func (c *Cluster) startNode() error {
	script := filepath.Join(c.Folder, "hold.sh")
	hold := exec.Command("bash", script, c.Folder, c.binaries)
	var said bytes.Buffer
	hold.Stderr = &said
	hold.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for the tests, which then let go
	tie, err := hold.StdinPipe()
	if err != nil {
		return err
	}
	if err := hold.Start(); err != nil {
		return err
	}
	c.tie = tie
	go func() {
		if err := hold.Wait(); err != nil {
			c.endErr = fmt.Errorf("%w: %s", err, &said)
		}
		close(c.ended)
	}()
	return nil
}

// stop ends the cluster and waits until nothing of it is left.
func (c *Cluster) stop() error {
	if c.door != nil {
		c.door.close()
	}
	if c.tie == nil {
		return os.RemoveAll(c.Folder)
	}
	c.tie.Close()
	select {
	case <-c.ended:
		return c.endErr
	case <-time.After(patience):
		return errors.New("Kubernetes does not end")
	}
}

// logs is the end of what each program wrote.
func (c *Cluster) logs() string {
	var all strings.Builder
	paths, _ := filepath.Glob(filepath.Join(c.Folder, "log", "*"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "=== %s\n%s\n", filepath.Base(path), text[max(0, len(text)-4000):])
	}
	return all.String()
}

// storageClasses makes those that are not there.
func (c *Cluster) storageClasses() error {
	late, remove := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	for name, medium := range map[string]string{"standard": "", "small": "memory"} {
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "forevervm.test/volumes",
			Parameters: map[string]string{"medium": medium}, VolumeBindingMode: &late, ReclaimPolicy: &remove,
		}
		if name == "standard" {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		_, err := c.Client.StorageV1().StorageClasses().Create(context.Background(), class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Await waits until the API server, the node and what runs its containers are as they should be.
func (c *Cluster) Await(t testing.TB) {
	t.Helper()
	if err := until(c.ready); err != nil {
		t.Fatalf("%v\n%s", err, c.logs())
	}
}

// ready asks the kubelet itself, too: the API server believes in a node for a while after its end.
// Statistics are what the kubelet asks containerd for at once, and not from what it remembers: it
// connects to containerd again only a while after that has started.
func (c *Cluster) ready() error {
	if err := c.alive(); err != nil {
		return err
	}
	ctx := context.Background() // the client has a time-out
	api := c.Client.CoreV1().RESTClient()
	kubelet := "/api/v1/nodes/" + Node + "/proxy"
	for _, path := range []string{"/readyz", kubelet + "/healthz", kubelet + "/stats/summary"} {
		if err := api.Get().AbsPath(path).Do(ctx).Error(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	// After its start, the kubelet is told of its pods, and knows none before.
	pods, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + Node})
	if err != nil {
		return err
	}
	known, err := api.Get().AbsPath(kubelet + "/pods").DoRaw(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods.Items {
		if !bytes.Contains(known, []byte(pod.UID)) {
			return fmt.Errorf("the kubelet does not know the pod %s", pod.Name)
		}
	}
	node, err := c.Client.CoreV1().Nodes().Get(ctx, Node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("the node is tainted: %v", node.Spec.Taints)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("the node is not ready: %s", condition.Message)
		}
	}
	return nil
}

// containerd tells whether it answers.
func (c *Cluster) containerd() error {
	if err := c.alive(); err != nil {
		return err
	}
	return c.ctr(10*time.Second, "version")
}

// alive is an errFinal when the node has ended.
func (c *Cluster) alive() error {
	select {
	case <-c.ended:
		return errors.Join(errFinal, c.endErr)
	default:
		return nil
	}
}

// ctr asks containerd, in the name space of Kubernetes' containers.
func (c *Cluster) ctr(limit time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args = append([]string{"--address", filepath.Join(c.Folder, "state", "containerd.sock"), "--namespace", "k8s.io"}, args...)
	out, err := exec.CommandContext(ctx, filepath.Join(c.binaries, "ctr"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %q: %w: %s", args, err, out)
	}
	return nil
}

// Import has containerd take the images of an OCI or Docker archive. Pods know them by the names in
// the archive, or by the one that is given, whole ("forevervm.test/tool:1"), where it has none, as
// those of imagetool.
func (c *Cluster) Import(t testing.TB, archive string, name ...string) {
	t.Helper()
	args := []string{"images", "import", "--local"}
	for _, name := range name {
		args = append(args, "--index-name", name)
	}
	if err := c.ctr(patience, append(args, archive)...); err != nil {
		t.Fatal(err)
	}
}

// Kill lets a program crash: "kube-apiserver", "kubelet", "containerd" or another of node.sh's. It
// starts again; Await waits for that.
func (c *Cluster) Kill(t testing.TB, program string) {
	t.Helper()
	if program == "kube-apiserver" {
		// After a few crashes these would try again only after a minute, and tests wait for that.
		for _, client := range []string{"kube-controller-manager", "kube-scheduler", "volumes"} {
			c.kill(t, client)
		}
	}
	c.kill(t, program)
}

func (c *Cluster) kill(t testing.TB, program string) {
	t.Helper()
	pid := c.signal(t, program, syscall.SIGKILL)
	err := until(func() error {
		if now, err := c.pid(program); err == nil && now == pid {
			return fmt.Errorf("%s does not end", program)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Pause lets a program hang until Resume, or the end of the test: it takes connections and answers
// nothing. With the kubelet, the node is lost after 12 s.
func (c *Cluster) Pause(t testing.TB, program string) {
	t.Helper()
	pid := c.signal(t, program, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

// Resume lets it go on.
func (c *Cluster) Resume(t testing.TB, program string) {
	t.Helper()
	c.signal(t, program, syscall.SIGCONT)
}

// signal waits until the program runs.
func (c *Cluster) signal(t testing.TB, program string, signal syscall.Signal) (pid int) {
	t.Helper()
	err := until(func() (err error) {
		if pid, err = c.pid(program); err != nil {
			return err
		}
		return syscall.Kill(pid, signal)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// pid finds a program of the node in its control group. Those of pods are in groups below that.
func (c *Cluster) pid(program string) (int, error) {
	for _, pattern := range []string{"/sys/fs/cgroup/pids/%s", "/sys/fs/cgroup/%s/node"} {
		pids, err := os.ReadFile(filepath.Join(fmt.Sprintf(pattern, filepath.Base(c.Folder)), "cgroup.procs"))
		if err != nil {
			continue
		}
		for pid := range strings.FieldsSeq(string(pids)) {
			args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			name, _, _ := strings.Cut(string(args), "\x00")
			if filepath.Base(name) == program {
				return strconv.Atoi(pid)
			}
		}
	}
	return 0, fmt.Errorf("no %s runs on the node", program)
}

// Profile writes a seccomp profile that pods name as Localhost's, or removes it where json is nil.
// After the test all is as before.
func (c *Cluster) Profile(t testing.TB, name string, json []byte) {
	t.Helper()
	path := filepath.Join(c.Folder, "kubelet", "seccomp", name)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	put := func(content []byte) {
		if content == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	put(json)
	t.Cleanup(func() { put(before) })
}

// Namespace makes a namespace whose pods are as Pod Security calls restricted. After the test it is
// removed with all in it.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	ctx := context.Background() // the client has a time-out
	namespaces := c.Client.CoreV1().Namespaces()
	made, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "test-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.remove(t, made.Name) })
	err = until(func() error { // no pod is admitted without one
		_, err := c.Client.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// remove waits until no pod of the namespace is left, whatever the test did to the cluster. The
// rest goes some 5 s later, for which no test has to wait.
func (c *Cluster) remove(t testing.TB, namespace string) {
	ctx, now := context.Background(), int64(0)
	pods := c.Client.CoreV1().Pods(namespace)
	err := until(func() error {
		err := c.Client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
			return err
		}
		left, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d pods are left", len(left.Items))
		}
		return err
	})
	if err != nil {
		t.Errorf("namespace %s: %v", namespace, err)
	}
}

// errFinal ends the wait for what will not be.
var errFinal = errors.New("the node has ended")

// until looks at a condition again and again. The error is what it was last.
func until(ok func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pace) {
		err := ok()
		if err == nil || errors.Is(err, errFinal) || time.Now().After(deadline) {
			return err
		}
	}
}
