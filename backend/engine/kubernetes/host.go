package kubernetes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// HostKind is Kind for places that keep their machines in the cluster.
const HostKind = "cluster"

const (
	hostLabel = "forevervm.dev/host" // what the place is called at home
	specNote  = "forevervm.dev/spec" // digest of what the pod was made of

	agentPath = ociimage.Agent
	hostData  = machinePath + "/data"

	defaultHostDiskGB     = 50
	defaultHostMemoryGB   = 8
	defaultHostProcessors = 4

	// HostPatience is how long it may take until an agent can be spoken to: a node may have to
	// start first.
	HostPatience = roomPatience + time.Minute
	// hostSeconds is how long the pod may take to end: all its machines are saved.
	hostSeconds = 300
)

// Host is a pod that runs an agent (package engine/remote), and a volume. All machines of a place
// live in that pod, and their saved states in that volume. The pod is there while it is needed.
type Host struct {
	e      *Engine // no machine is started by it
	name   string
	agents sync.WaitGroup // those whose connection was closed

	mu     sync.Mutex // held while the pod is made or told to end
	latest *agent     // nil where none has been dialled
	closed bool
}

// NewHost makes what dials the agent of a place that is called so. It touches nothing yet.
func NewHost(cfg Config, name, agent string) *Host {
	h := &Host{e: New(cfg), name: name}
	h.e.images.Agent = agent
	h.e.trial = func(image string) (*core.PersistentVolumeClaim, *core.Pod, error) {
		pod, err := h.pod(image)
		return h.claim(), pod, err
	}
	h.e.reaped.Store(true) // what lies in the cluster stays there
	return h
}

// Where is the cluster that the host is in.
func (h *Host) Where() Cluster { return h.e.Where() }

// Move is Engine.Move. The volume stays as it is: its size and class cannot be changed.
func (h *Host) Move(to Cluster) error {
	was := h.Where()
	to.DiskGB, to.StorageClass = cmp.Or(to.DiskGB, was.DiskGB), cmp.Or(to.StorageClass, was.StorageClass)
	if to.DiskGB != was.DiskGB || to.StorageClass != was.StorageClass {
		return machine.Conflict("The volume of %q is there already: its size and class cannot be changed. Add another place with the new ones, and move the machines there.", h.name)
	}
	return h.e.Move(to)
}

// Version is Engine.Version.
func (h *Host) Version(ctx context.Context) (version, processor string, err error) {
	return h.e.Version(ctx)
}

// Check is Engine.Check: it starts nothing.
func (h *Host) Check(ctx context.Context) []machine.Problem { return h.e.Check(ctx) }

// Renew makes the next Check look again.
func (h *Host) Renew(ctx context.Context) error { return h.e.StartUp(ctx) }

// Notify is Engine.Notify.
func (h *Host) Notify(listen func(machine.EngineNews)) { h.e.Notify(listen) }

// object is what pod and volume are called: two people may share a namespace.
func (h *Host) object() string {
	sum := sha256.Sum256([]byte(h.e.cfg.Owner + "\n" + h.name))
	return "forevervm-host-" + hex.EncodeToString(sum[:8])
}

func (h *Host) meta() meta.ObjectMeta {
	return meta.ObjectMeta{
		Name: h.object(), Namespace: h.e.Where().Namespace,
		Labels: map[string]string{managedLabel: "forevervm", homeLabel: h.e.cfg.Owner, hostLabel: h.name},
	}
}

func (h *Host) claim() *core.PersistentVolumeClaim {
	claim := h.e.claim(stay{}, h.object())
	claim.ObjectMeta = h.meta()
	claim.Spec.Resources.Requests[core.ResourceStorage] = gibibytes(cmp.Or(h.e.Where().DiskGB, defaultHostDiskGB))
	return claim
}

func gibibytes(n int) resource.Quantity {
	return *resource.NewQuantity(int64(n)<<30, resource.BinarySI)
}

// pod is a machine's pod with another program and the resources of many machines. Its first process
// waits: agents are run beside it. Because of its /proc, it fits Pod Security's level "baseline",
// from Kubernetes 1.35, and not "restricted".
func (h *Host) pod(image string) (*core.Pod, error) {
	where := h.e.Where()
	pod := h.e.pod(stay{image: image}, h.object(), h.object())
	pod.ObjectMeta = h.meta()
	pod.Spec.Hostname = "host"
	grace := int64(hostSeconds)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	unmasked := core.UnmaskedProcMount // each machine mounts a /proc for its own processes
	runs := &pod.Spec.Containers[0]
	runs.SecurityContext.ProcMount = &unmasked
	runs.Command, runs.Args = []string{agentPath, "-first"}, nil
	runs.Resources = core.ResourceRequirements{
		Limits: core.ResourceList{
			core.ResourceCPU:    *resource.NewQuantity(int64(cmp.Or(where.Processors, defaultHostProcessors)), resource.DecimalSI),
			core.ResourceMemory: gibibytes(cmp.Or(where.MemoryGB, defaultHostMemoryGB)),
		},
		// A pod that takes more than it asked for is the first that a node evicts.
		Requests: core.ResourceList{
			core.ResourceCPU: resource.MustParse("500m"), core.ResourceMemory: gibibytes(cmp.Or(where.MemoryGB, defaultHostMemoryGB)),
		},
	}
	spec, err := json.Marshal(pod.Spec)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(spec)
	pod.Annotations = map[string]string{specNote: hex.EncodeToString(sum[:])}
	return pod, nil
}

// Dial starts an agent in the pod, which it makes where there is none. The agent ends with the
// connection. The error is a sentence for a person.
func (h *Host) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c, err := h.e.connect()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, machine.Closing()
	}
	pod, err := h.stand(ctx, c)
	if err != nil {
		h.removeWaiting(ctx, c)
		return nil, h.e.failed("The place's pod could not be started", err)
	}
	r, err := c.run(context.WithoutCancel(ctx), h.object(), []string{agentPath, "-parts", "/", "-data", hostData, "-keep"})
	if err != nil {
		return nil, h.e.failed("The place's pod could not be spoken to", err)
	}
	h.latest = &agent{running: r, h: h, c: c, pod: pod}
	return h.latest, nil
}

// stand sees to it that the pod runs, and is as it should be. It returns which one that is.
func (h *Host) stand(ctx context.Context, c *client) (types.UID, error) {
	digest, err := h.e.images.HostDigest(ctx)
	if err != nil {
		return "", err
	}
	want, err := h.pod(h.e.Where().Repository + "@" + digest)
	if err != nil {
		return "", err
	}
	for {
		there, err := c.getPod(ctx, h.object())
		if err != nil {
			return "", err
		}
		switch {
		case there == nil:
			err = h.create(ctx, c, want)
		case h.e.isLost(there):
			h.e.cfg.Log.Warn("a node does not answer: its pod is given up. Machines go on from their last checkpoints", "pod", h.object())
			err = c.deleteThis(ctx, there.Name, there.UID, 0)
		case there.DeletionTimestamp != nil: // it saves its machines
		case stateOf(there) == podEnded || there.Annotations[specNote] != want.Annotations[specNote]:
			err = c.deleteThis(ctx, there.Name, there.UID, hostSeconds)
		default:
			return there.UID, h.e.awaitRunning(ctx, c, h.object())
		}
		if err != nil {
			return "", err
		}
		if err := pause(ctx, lostPoll); errors.Is(err, context.DeadlineExceeded) && there != nil {
			return "", unavailable("The place's earlier pod still ends: its machines are saved, or its node does not answer. Try again in a few minutes.", err)
		} else if err != nil {
			return "", err
		}
	}
}

// create makes the volume, unless it is there, and the pod. It does nothing while an earlier volume
// is being removed.
func (h *Host) create(ctx context.Context, c *client, pod *core.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	claims := c.api.CoreV1().PersistentVolumeClaims(c.namespace)
	_, err := claims.Create(ctx, h.claim(), meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var there *core.PersistentVolumeClaim
		if there, err = claims.Get(ctx, h.object(), meta.GetOptions{}); apierrors.IsNotFound(err) || err == nil && there.DeletionTimestamp != nil {
			return nil
		}
	}
	if err != nil {
		return err
	}
	_, err = c.api.CoreV1().Pods(c.namespace).Create(ctx, pod, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		h.e.cfg.Log.Info("the pod of a place is made", "pod", pod.Name)
	}
	return err
}

// removeWaiting removes a pod that never ran, as nobody waits for it any more: a cluster may start
// a node for it.
func (h *Host) removeWaiting(ctx context.Context, c *client) {
	ctx = context.WithoutCancel(ctx)
	there, err := c.getPod(ctx, h.object())
	if err == nil && there != nil && stateOf(there) == podWaits {
		err = c.deleteThis(ctx, there.Name, there.UID, endSeconds)
	}
	if err != nil {
		h.e.cfg.Log.Warn("the pod of a place that did not start is left", "pod", h.object(), "error", err)
	}
}

// Close waits for the agents whose connection was closed, and for their pod to be told to end.
func (h *Host) Close() error {
	h.mu.Lock() // who dials gets to an end first
	h.closed = true
	h.mu.Unlock()
	h.agents.Wait()
	return h.e.Close()
}

// Remove removes the pod and the volume, with everything that is in it.
func (h *Host) Remove(ctx context.Context) error {
	c, err := h.e.connect()
	if err == nil {
		err = c.remove(ctx, h.object())
	}
	return h.e.failed("The place's volume could not be removed", err)
}

// agent is the connection to one.
type agent struct {
	*running
	h    *Host
	c    *client
	pod  types.UID
	once sync.Once
}

// Close lets the agent save its machines and end. Then the pod goes, until it is needed again.
func (a *agent) Close() error {
	a.once.Do(func() {
		a.endInput()
		_ = a.stdout.Close() // which never fails; who reads is told at once
		a.h.agents.Go(func() {
			select {
			case <-a.done:
			case <-time.After(hostSeconds * time.Second):
			}
			a.end()
			a.h.e.cfg.Log.Info("an agent has ended", "pod", a.h.object(), "err", a.err, "said", a.said())
			a.h.rest(a)
		})
	})
	return nil
}

// Why says why an agent ended that said nothing (remote.Explainer); nil where that is not known.
// The connection is closed.
func (a *agent) Why() error {
	const soon = 5 * time.Second
	select {
	case <-a.done:
	case <-time.After(soon):
		return nil
	}
	if said := a.said(); said != "" {
		return unavailable("The place's agent in the cluster does not run: "+clip(said)+".", a.err)
	}
	return a.h.e.failed("The place's agent in the cluster does not run", a.err)
}

// said is the end of what it wrote on its standard error. An agent is taken for hostile.
func (a *agent) said() string {
	const most = 300
	said := a.stderr.String()
	return naming.Unturned(naming.CleanLine(said[max(0, len(said)-most):]))
}

// rest has the pod end, unless another agent was dialled since.
func (h *Host) rest(a *agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest != a {
		return
	}
	if err := a.c.deleteThis(context.Background(), h.object(), a.pod, hostSeconds); err != nil {
		h.e.cfg.Log.Warn("the pod of a place stays until it is needed again", "pod", h.object(), "error", err)
	}
}
