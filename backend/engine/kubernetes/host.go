package kubernetes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
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

	// HostPatience is how long it may take until an agent can be spoken to: a node may have to start
	// first.
	HostPatience = roomPatience + time.Minute
	// agentPatience is how long an agent may take to end whose connection was closed: it saves what
	// is in memory.
	agentPatience = 2 * time.Minute
)

// Host is a pod that runs an agent (package engine/remote), and a volume. All machines of a place
// live in that pod, and their saved states in that volume. The pod is there while it is needed.
type Host struct {
	e      *Engine // no machine is started by it
	name   string
	agents sync.WaitGroup // those whose connection was closed

	mu     sync.Mutex // held while the pod is made or told to end
	latest *agent     // nil where none has been dialled
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

// Move is Engine.Move. The volume stays as it is.
func (h *Host) Move(to Cluster) error { return h.e.Move(to) }

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
// waits: agents are run beside it. Because of its /proc, it fits Pod Security's level "baseline", from
// Kubernetes 1.35, and not "restricted".
func (h *Host) pod(image string) (*core.Pod, error) {
	where := h.e.Where()
	pod := h.e.pod(stay{image: image}, h.object(), h.object())
	pod.ObjectMeta = h.meta()
	pod.Spec.Hostname = "host"
	unmasked := core.UnmaskedProcMount // each machine mounts a /proc for its own processes
	runs := &pod.Spec.Containers[0]
	runs.SecurityContext.ProcMount = &unmasked
	runs.Command, runs.Args = []string{agentPath, "-first"}, nil
	runs.Resources = core.ResourceRequirements{
		Limits: core.ResourceList{
			core.ResourceCPU:    *resource.NewQuantity(int64(cmp.Or(where.Processors, defaultHostProcessors)), resource.DecimalSI),
			core.ResourceMemory: gibibytes(cmp.Or(where.MemoryGB, defaultHostMemoryGB)),
		},
		Requests: runs.Resources.Requests,
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
	if err := h.stand(ctx, c); err != nil {
		return nil, h.e.failed("The place's pod could not be started", err)
	}
	r, err := c.run(context.WithoutCancel(ctx), h.object(), []string{agentPath, "-parts", "/", "-data", hostData, "-keep"})
	if err != nil {
		return nil, h.e.failed("The place's pod could not be spoken to", err)
	}
	h.latest = &agent{running: r, h: h, c: c}
	return h.latest, nil
}

// stand sees to it that the pod runs, and is as it should be.
func (h *Host) stand(ctx context.Context, c *client) error {
	digest, err := h.e.images.HostDigest(ctx)
	if err != nil {
		return err
	}
	want, err := h.pod(h.e.Where().Repository + "@" + digest)
	if err != nil {
		return err
	}
	for {
		there, err := c.getPod(ctx, h.object())
		if err != nil {
			return err
		}
		switch {
		case there == nil:
			h.e.cfg.Log.Info("the pod of a place is made", "pod", h.object())
			err = h.create(ctx, c, want)
		case there.DeletionTimestamp != nil: // it saves its machines
		case stateOf(there) == podEnded || there.Annotations[specNote] != want.Annotations[specNote]:
			err = c.deletePod(ctx, h.object(), saveSeconds)
		default:
			return h.e.awaitRunning(ctx, c, h.object())
		}
		if err != nil {
			return err
		}
		if err := pause(ctx, lostPoll); err != nil {
			return unavailable("The place's earlier pod does not end. Its node may be gone. Look at `kubectl get pod "+h.object()+"`.", err)
		}
	}
}

// create makes the volume, unless it is there, and the pod.
func (h *Host) create(ctx context.Context, c *client, pod *core.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	_, err := c.api.CoreV1().PersistentVolumeClaims(c.namespace).Create(ctx, h.claim(), meta.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = c.api.CoreV1().Pods(c.namespace).Create(ctx, pod, meta.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Close waits for the agents whose connection was closed, and for their pod to be told to end.
func (h *Host) Close() error {
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
	once sync.Once
}

// Close lets the agent save its machines and end. Then the pod goes, until it is needed again.
func (a *agent) Close() error {
	a.once.Do(func() {
		a.endInput()
		a.h.agents.Go(func() {
			go func() { _, _ = io.Copy(io.Discard, a.stdout) }() // what it still says
			select {
			case <-a.done:
			case <-time.After(agentPatience):
			}
			a.end()
			a.h.e.cfg.Log.Info("an agent has ended", "pod", a.h.object(), "err", a.err, "said", clip(a.stderr.String()))
			a.h.rest(a)
		})
	})
	return nil
}

// rest has the pod end, unless another agent was dialled since.
func (h *Host) rest(a *agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest != a {
		return
	}
	if err := a.c.deletePod(context.Background(), h.object(), saveSeconds); err != nil {
		h.e.cfg.Log.Warn("the pod of a place stays until it is needed again", "pod", h.object(), "error", err)
	}
}
