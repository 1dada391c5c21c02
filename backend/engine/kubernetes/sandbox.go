package kubernetes

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// launch is what a machine is brought into memory with.
type launch struct {
	stay
	folder  checkpoint.Folder // where its checkpoints go
	restore string            // folder of the checkpoint to begin with, named by its id; empty to start afresh
	opts    link.Options
}

// Sandbox is one machine in memory, in a pod.
type Sandbox struct {
	*carry.Carried
	e      *Engine
	c      *client
	launch launch
	pod    string // its name, and that of its volume
	link   *running

	killed atomic.Bool
	said   atomic.Bool // the supervisor has said why it ends
	apart  bool        // the link was lost, and the machine saves itself, or did; valid once it has ended
	exit   int32       // status that the pod's program crashed with; 0 where it did not; valid then

	limiting sync.Mutex // guards memory
	memory   int64      // the machine's limit in bytes, 0 for none
}

// launch brings a machine into memory. On an error nothing is left of it.
func (e *Engine) launch(ctx context.Context, c *client, l launch) (*Sandbox, error) {
	b := &Sandbox{e: e, c: c, launch: l, pod: podName(l.id), memory: l.memory}
	b.Carried = carry.On(carry.Way{
		Machine: l.id, From: "the cluster", Folder: l.folder, Life: l.life, Log: e.cfg.Log, Full: full,
		Home: func(ctx context.Context, id string) error {
			return e.carryHome(ctx, c, b.pod, l.folder, id, b.memoryNow(), carry.ContentOf(l.parts, l.life))
		},
	})
	err := b.create(ctx)
	if err == nil && l.restore != "" {
		err = b.carryIn(ctx)
	}
	if err == nil {
		// The link lives as long as the machine does.
		b.link, err = c.exec(context.Background(), b.pod, "connect", linkPath)
	}
	if err != nil {
		b.remove()
		return nil, e.failed("The machine's pod could not be started", err)
	}
	e.running.Add(1)
	l.opts.Rush, l.opts.Kill, l.opts.Silence = e.store.Rush, b.kill, e.patience.silence
	l.opts.Said = func() { b.said.Store(true) }
	l.opts.Wait = func() {
		defer e.running.Done()
		b.seeOff()
	}
	if b.Sandbox, err = link.Connect(ctx, b.link, l.opts); err != nil {
		return nil, e.refused(b, err)
	}
	return b, nil
}

// create makes the volume and the pod, and waits until it runs.
func (b *Sandbox) create(ctx context.Context) error {
	l := b.launch
	restore := ""
	if l.restore != "" {
		restore = filepath.Base(l.restore)
	}
	l.args = supervisorArgs(l.parts, restore)
	quick, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	core := b.c.api.CoreV1()
	if _, err := core.PersistentVolumeClaims(b.c.namespace).Create(quick, b.e.claim(l.stay, b.pod), meta.CreateOptions{}); err != nil {
		return err
	}
	if _, err := core.Pods(b.c.namespace).Create(quick, b.e.pod(l.stay, b.pod, b.pod), meta.CreateOptions{}); err != nil {
		return err
	}
	return b.e.awaitRunning(ctx, b.c, b.pod)
}

// carryIn copies the checkpoint to begin with into the volume.
func (b *Sandbox) carryIn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	dir := b.launch.restore
	archive := iox.Stream(func(w io.Writer) error {
		return checkpoint.Folder(filepath.Dir(dir)).Pack(ctx, filepath.Base(dir), ociimage.Owner, w)
	})
	defer archive.Close()
	err := b.c.give(ctx, b.pod, archive, "take", machinePath)
	if errors.Is(err, checkpoint.ErrUnusable) {
		return local.Unusable("The saved state of this machine is missing or damaged. An earlier checkpoint may still work.", err)
	}
	return err
}

func (b *Sandbox) kill() {
	b.killed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), apiPatience)
	defer cancel()
	if err := b.c.removePod(ctx, b.pod); err != nil {
		b.e.cfg.Log.Warn("killing a pod", "machine", b.launch.id, "pod", b.pod, "error", err)
	}
	b.link.end()
}

// seeOff takes over what the machine saved, and removes its pod and volume. What cannot be done, as
// the cluster does not answer, is done when the machine is wanted next, or when the engine starts.
func (b *Sandbox) seeOff() {
	b.link.end()
	if b.killed.Load() {
		b.remove()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), seeOffPatience)
	defer cancel()
	if !b.said.Load() {
		b.exit = b.c.crashed(ctx, b.pod)
	}
	l := left{b.pod, b.launch.id, carry.ContentOf(b.launch.parts, b.launch.life)}
	err := b.e.takeOver(ctx, b.c, l, b.launch.folder)
	b.apart = err != nil || !b.said.Load() && b.exit == 0
	if err != nil {
		b.e.cfg.Log.Warn("a machine's pod is left for now", "machine", b.launch.id, "pod", b.pod, "error", err)
	}
}

// crashed is the status of a pod's program that has just ended by itself, and not well; 0 where it
// has not. The node tells a moment later.
func (c *client) crashed(ctx context.Context, name string) int32 {
	const soon = 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for {
		pod, err := c.getPod(ctx, name)
		if err != nil || pod == nil || pod.DeletionTimestamp != nil {
			return 0
		}
		for _, one := range pod.Status.ContainerStatuses {
			if one.State.Terminated != nil {
				return one.State.Terminated.ExitCode
			}
		}
		if pause(ctx, lostPoll) != nil {
			return 0
		}
	}
}

// seeOffPatience bounds how long the end of a machine may take. Its supervisor saves within two
// minutes.
const seeOffPatience = 5 * time.Minute

// remove removes the pod, whatever its state, and its volume.
func (b *Sandbox) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), apiPatience)
	defer cancel()
	if err := b.c.remove(ctx, b.pod); err != nil {
		b.e.cfg.Log.Warn("a machine's pod is left for now", "machine", b.launch.id, "pod", b.pod, "error", err)
	}
}

// Cause says why it ended. Where the link was lost, its supervisor saves it.
func (b *Sandbox) Cause() machine.Cause {
	cause := b.Carried.Cause()
	if cause.Kind == machine.EndedBroken && b.apart {
		return machine.Cause{Kind: machine.EndedApart, Detail: "The connection to the cluster where this machine is was lost."}
	}
	return cause
}

func (b *Sandbox) memoryNow() int64 {
	b.limiting.Lock()
	defer b.limiting.Unlock()
	return b.memory
}

// SetMemoryLimit changes what programs inside may use, and the pod's limit so that it is never the
// lower one.
func (b *Sandbox) SetMemoryLimit(ctx context.Context, memoryMB int) error {
	limit, was := int64(memoryMB)<<20, b.memoryNow()
	raised := limit == 0 || was > 0 && limit > was
	if raised {
		if err := b.limit(ctx, limit); err != nil {
			return b.e.failed("The limit could not be raised", err)
		}
	}
	if err := b.Sandbox.SetMemoryLimit(ctx, memoryMB); err != nil {
		return err
	}
	b.limiting.Lock()
	b.memory = limit
	b.limiting.Unlock()
	if !raised {
		if err := b.limit(ctx, limit); err != nil { // it uses more already: the limit inside holds
			b.e.cfg.Log.Debug("a pod's limit stays as it was", "machine", b.launch.id, "error", err)
		}
	}
	return nil
}

// limit changes the limit of the running pod.
func (b *Sandbox) limit(ctx context.Context, memory int64) error {
	patch, err := b.e.limitPatch(memory)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	_, err = b.c.api.CoreV1().Pods(b.c.namespace).Patch(ctx, b.pod, types.StrategicMergePatchType, patch, meta.PatchOptions{}, "resize")
	if err != nil {
		return err
	}
	return b.awaitLimit(ctx, memory)
}
