//go:build linux && system

package kubernetes

import (
	"errors"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/engine/enginetest"
	"github.com/forevervm/desktop/backend/engine/kubernetes/kubetest"
	"github.com/forevervm/desktop/backend/machine"
)

// TestDrainSaves is what happens when an administrator drains a node, or the node evicts a pod: the
// machine is saved with what no checkpoint has, and goes on elsewhere.
func TestDrainSaves(t *testing.T) {
	e := newEngine(t, t.TempDir())
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Value("x = 41")
	pod := m.Sandbox.(*Sandbox).pod
	err := kubetest.Up(t).Client.CoreV1().Pods(e.Where().Namespace).EvictV1(t.Context(), &policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: pod, Namespace: e.Where().Namespace}})
	if err != nil {
		t.Fatal(err)
	}
	cause := m.AwaitEnd()
	if cause.Kind != machine.EndedStopped || cause.Checkpoint == nil {
		t.Fatalf("the cause is %+v", cause)
	}
	enginetest.Start(t, e, id, cause.Checkpoint.ID).Expect("x + 1", "42")
}

// TestAPIServerRestarts loses every link. The machine saves itself meanwhile.
func TestAPIServerRestarts(t *testing.T) {
	e, cluster := newEngine(t, t.TempDir()), kubetest.Up(t)
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Value("x = 41")
	cluster.Kill(t, "kube-apiserver")
	if cause := m.AwaitEnd(); cause.Kind != machine.EndedApart {
		t.Fatalf("the cause is %+v", cause)
	}
	cluster.Await(t)
	goesOn(t, e, m)
}

// goesOn fails the test where a machine that ended apart does not go on with x = 41.
func goesOn(t *testing.T, e *Engine, m *enginetest.InMemory) {
	t.Helper()
	info, err := e.Reclaim(enginetest.Bounded(t), m.ID, m.Life, nil)
	if err != nil || info == nil {
		t.Fatalf("reclaimed %+v, %v", info, err)
	}
	enginetest.Start(t, e, m.ID, info.ID).Expect("x + 1", "42")
}

// TestDaemonDies is the same for the daemon: another one finds what was saved.
func TestDaemonDies(t *testing.T) {
	e := newEngine(t, t.TempDir())
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Value("x = 41")
	b := m.Sandbox.(*Sandbox)
	b.c = &client{api: b.c.api, config: b.c.config, namespace: "gone"} // what ends finds nothing to take over
	b.link.cancel()
	m.AwaitEnd()
	next := newEngineOn(t, e.cfg)
	if err := next.Reap(enginetest.Bounded(t)); err != nil {
		t.Fatal(err)
	}
	goesOn(t, next, m)
}

// TestPodIsTakenAway deletes a pod without mercy. Whether its supervisor still saves it, the node
// decides. The machine goes on from its last checkpoint.
func TestPodIsTakenAway(t *testing.T) {
	e := newEngine(t, t.TempDir())
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Value("x = 41")
	known, err := m.Checkpoint(enginetest.Bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	err = kubetest.Up(t).Client.CoreV1().Pods(e.Where().Namespace).Delete(t.Context(), m.Sandbox.(*Sandbox).pod, meta.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil {
		t.Fatal(err)
	}
	last := known.ID
	switch cause := m.AwaitEnd(); {
	case cause.Kind == machine.EndedStopped && cause.Checkpoint != nil:
		last = cause.Checkpoint.ID
	case cause.Kind != machine.EndedApart:
		t.Errorf("the cause is %+v", cause)
	}
	if _, err := e.Reclaim(enginetest.Bounded(t), id, m.Life, []string{known.ID, last}); err != nil {
		t.Errorf("reclaim: %v", err)
	}
	enginetest.Start(t, e, id, last).Expect("x + 1", "42")
}

// TestNodeIsLost has a node answer nothing any more. What had come home counts.
func TestNodeIsLost(t *testing.T) {
	e, cluster := newEngine(t, t.TempDir()), kubetest.Up(t)
	e.patience.end, e.patience.silence, e.patience.lost = 5*time.Second, 3*time.Second, 3*time.Second
	id := enginetest.NewID(t, e)
	m := enginetest.Start(t, e, id, "")
	m.Value("x = 41")
	known, err := m.Checkpoint(enginetest.Bounded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Pause(t, "kubelet")
	if cause := m.AwaitEnd(); cause.Kind != machine.EndedApart {
		t.Errorf("the cause is %+v", cause)
	}
	cluster.Resume(t, "kubelet")
	cluster.Await(t)
	if _, err := e.Reclaim(enginetest.Bounded(t), id, m.Life, []string{known.ID}); err != nil {
		t.Errorf("reclaim: %v", err)
	}
	enginetest.Start(t, e, id, known.ID).Expect("x + 1", "42")
}

// TestVolumeIsFull fills a volume from inside. Code is told, and so is who saves the machine, which
// goes on.
func TestVolumeIsFull(t *testing.T) {
	e := newEngineIn(t, t.TempDir(), Cluster{StorageClass: "small", DiskGB: 1})
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 41")
	m.Expect("import errno\ntry:\n\twith open('big', 'wb') as f:\n\t\twhile True: f.write(b'x' * (1 << 20))\nexcept OSError as e: caught = errno.errorcode[e.errno]\ncaught", "'ENOSPC'")
	if _, err := m.Checkpoint(enginetest.Bounded(t), nil); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "its volume in the cluster is full") {
		t.Errorf("saving to a full volume: %v", err)
	}
	m.Expect("import os; os.remove('big'); x", "41")
	saving := enginetest.Bounded(t)
	info, err := m.Checkpoint(saving, nil)
	for err != nil && saving.Err() == nil { // gVisor gives the room of a file back a little after the file is gone
		info, err = m.Checkpoint(saving, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Kill()
	m.AwaitEnd()
	enginetest.Start(t, e, m.ID, info.ID).Expect("x + 1", "42")
}

// TestMemoryLimitChangesInPlace raises and lowers a machine's limit without a new pod.
func TestMemoryLimitChangesInPlace(t *testing.T) {
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	b := m.Sandbox.(*Sandbox)
	for _, memory := range []int{1024, 512, 0} {
		if err := m.SetMemoryLimit(enginetest.Bounded(t), memory); err != nil {
			t.Fatalf("%d MB: %v", memory, err)
		}
		pod, err := kubetest.Up(t).Client.CoreV1().Pods(e.Where().Namespace).Get(t.Context(), b.pod, meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := e.limits(int64(memory) << 20)[core.ResourceMemory]
		if got := pod.Spec.Containers[0].Resources.Limits.Memory(); got.Cmp(want) != 0 || pod.Status.ContainerStatuses[0].RestartCount > 0 {
			t.Errorf("%d MB: the pod's limit is %s, not %s", memory, got, &want)
		}
	}
	m.Expect("6 * 7", "42")
}

// TestFilterIsMissing says what the nodes lack, and who mends it.
func TestFilterIsMissing(t *testing.T) {
	e, cluster := newEngine(t, t.TempDir()), kubetest.Up(t)
	id := enginetest.NewID(t, e)
	cluster.Profile(t, SeccompProfile, nil)
	_, err := enginetest.TryStart(t, e, id, "")
	if err == nil || !strings.Contains(err.Error(), "lacks the system call filter") {
		t.Errorf("the error is %v", err)
	}
	if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].Do, "forevervm kubernetes manifest") {
		t.Errorf("the problems are %+v", problems)
	}
}

// TestQuotaIsReached says so before a machine is made, and after.
func TestQuotaIsReached(t *testing.T) {
	e := newEngine(t, t.TempDir())
	id := enginetest.NewID(t, e)
	_, err := kubetest.Up(t).Client.CoreV1().ResourceQuotas(e.Where().Namespace).Create(t.Context(), &core.ResourceQuota{
		ObjectMeta: meta.ObjectMeta{Name: "none"}, Spec: core.ResourceQuotaSpec{Hard: core.ResourceList{core.ResourcePods: resource.MustParse("0")}},
	}, meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var told error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) { // a quota counts soon
		if _, told = enginetest.TryStart(t, e, id, ""); told != nil {
			break
		}
	}
	if !errors.Is(told, machine.ErrUnavailable) || !strings.Contains(told.Error(), "quota") {
		t.Errorf("the error is %v", told)
	}
	if problems := e.Check(t.Context()); len(problems) != 1 || !strings.Contains(problems[0].What, "quota") {
		t.Errorf("the problems are %+v", problems)
	}
	if left := leftovers(t, e); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// TestTwoPlacesInOneNamespace keep their hands off each other's machines.
func TestTwoPlacesInOneNamespace(t *testing.T) {
	e := newEngine(t, t.TempDir())
	m := enginetest.Start(t, e, enginetest.NewID(t, e), "")
	m.Value("x = 41")
	cfg := e.cfg
	cfg.Name = Kind + ":other"
	other := newEngineOn(t, cfg)
	if err := errors.Join(other.Reap(enginetest.Bounded(t)), other.RemoveAll(enginetest.Bounded(t))); err != nil {
		t.Fatal(err)
	}
	m.Expect("x + 1", "42")
}
