package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/sandbox"
)

// left is a volume in the cluster, with what a stay of a machine left in it. Its pod may be there,
// too, under the same name.
type left struct {
	name string
	id   machine.ID
	of   carry.Content
}

// listLeft lists what is ours in the cluster of a machine, or of all where id is empty.
func (e *Engine) listLeft(ctx context.Context, c *client, id machine.ID) ([]left, error) {
	selector := homeLabel + "=" + e.cfg.Owner + "," + placeLabel + "=" + e.place()
	if id != "" {
		selector += "," + machineLabel + "=" + string(id)
	}
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	claims, err := c.api.CoreV1().PersistentVolumeClaims(c.namespace).List(ctx, meta.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, e.failed("The cluster does not tell what it has of this computer's machines", err)
	}
	var all []left
	for _, one := range claims.Items {
		if one.DeletionTimestamp != nil { // it goes with its pod
			continue
		}
		image, runtime, _ := strings.Cut(one.Annotations[partsNote], " ")
		all = append(all, left{one.Name, machine.ID(one.Labels[machineLabel]), carry.Content{Image: image, Runtime: runtime, Life: one.Labels[lifeLabel]}})
	}
	return all, nil
}

// settle takes over what an earlier stay of a claimed machine left in the cluster.
func (e *Engine) settle(ctx context.Context, c *client, id machine.ID) error {
	dir := e.store.Machine(id)
	// What was carried home by halves is carried again.
	if err := local.Checkpoints(dir).Sweep(); err != nil {
		return local.Describe(err)
	}
	all, err := e.listLeft(ctx, c, id)
	if err != nil {
		return err
	}
	for _, one := range all {
		if _, gone := os.Stat(dir); errors.Is(gone, os.ErrNotExist) {
			err = c.remove(ctx, one.name)
		} else {
			err = e.takeOver(ctx, c, one, local.Checkpoints(dir))
		}
		if err != nil && ctx.Err() != nil {
			return carry.StillSaved(err)
		}
		if err != nil {
			return e.failed("What the cluster has of the machine could not be fetched", err)
		}
	}
	return nil
}

const (
	// endPatience is how long a machine's supervisor may take to save it and end. It saves within
	// two minutes.
	endPatience = 3 * time.Minute
	// silencePatience is how long a supervisor may not answer whether it is there.
	silencePatience = time.Minute
	// lostPatience is how long a pod may not answer until it is told to end, and how long it may
	// take then. After that what only its volume holds is given up: nobody was ever told of it. A
	// supervisor saves within less.
	lostPatience = 3 * time.Minute
)

// takeOver waits for the end of a pod's machine, carries home what it saved, and removes pod and
// volume.
func (e *Engine) takeOver(ctx context.Context, c *client, l left, to checkpoint.Folder) error {
	var silent time.Time // since when the pod has not answered; zero where it has
	for {
		pod, err := c.getPod(ctx, l.name)
		if err != nil {
			return err
		}
		switch state := stateOf(pod); {
		case state == podGone:
			return e.takeFromVolume(ctx, c, l, to)
		case state == podWaits: // nothing is in its volume
			return c.remove(ctx, l.name)
		case e.isLost(pod):
			e.cfg.Log.Warn("a node does not answer: what a volume there may hold is given up. The machine goes on from its last checkpoint", "machine", l.id, "pod", l.name)
			return c.abandon(ctx, l.name)
		case state == podEnded:
			err = c.removePod(ctx, l.name) // so that another can have the volume
		case pod.DeletionTimestamp != nil && !silent.IsZero(): // it was asked to end
		default:
			if err = e.takeFromPod(ctx, c, l, to); err == nil {
				return c.remove(ctx, l.name)
			}
		}
		switch {
		case err == nil:
		case !errors.Is(err, errSilent):
			return err
		case silent.IsZero():
			silent = time.Now()
		case time.Since(silent) > e.patience.lost:
			e.cfg.Log.Warn("a pod does not answer, and is ended", "machine", l.id, "pod", l.name, "error", err)
			if err := c.removePod(ctx, l.name); err != nil {
				return err
			}
		}
		if err := pause(ctx, lostPoll); err != nil {
			return err
		}
	}
}

// isLost says whether a pod should have ended long ago. Its node has not said that it did.
func (e *Engine) isLost(pod *core.Pod) bool {
	return pod.DeletionTimestamp != nil && time.Since(pod.DeletionTimestamp.Time) > e.patience.lost
}

// takeFromPod carries home what the machine of a pod that runs has saved. One that does not end
// does not answer either.
func (e *Engine) takeFromPod(ctx context.Context, c *client, l left, to checkpoint.Folder) error {
	bounded, cancel := context.WithTimeout(ctx, e.patience.end)
	defer cancel()
	err := e.carryAllHome(bounded, c, l.name, l, to)
	if err != nil && ctx.Err() == nil && (bounded.Err() != nil || refused(err)) {
		e.cfg.Log.Warn("a pod does not end, and is killed", "machine", l.id, "pod", l.name, "error", err)
		return errors.Join(errSilent, err, c.removePod(ctx, l.name))
	}
	return err
}

// lostPoll is how often a pod is looked at that is about to end.
const lostPoll = 100 * time.Millisecond

// takeFromVolume is takeOver for a volume that has no pod any more: it gets another one, in which
// no machine runs.
func (e *Engine) takeFromVolume(ctx context.Context, c *client, l left, to checkpoint.Folder) error {
	quick, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	_, err := c.api.CoreV1().PersistentVolumeClaims(c.namespace).Get(quick, l.name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	parts, err := e.store.Parts("base")
	if err != nil {
		return err
	}
	image, err := e.image(ctx, parts)
	if err != nil {
		return err
	}
	s := stay{id: l.id, name: "carrier", parts: parts, image: image, args: supervisorArgs(parts, "")} // it waits for a link that does not come
	carrier := l.name + "-out"
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiPatience)
		defer cancel()
		if err := c.removePod(ctx, carrier); err != nil {
			e.cfg.Log.Warn("a pod is left for now", "pod", carrier, "error", err)
		}
	}()
	if _, err := c.api.CoreV1().Pods(c.namespace).Create(quick, e.pod(s, carrier, l.name), meta.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := e.awaitRunning(ctx, c, carrier); err != nil {
		return unavailable("What the machine saved last lies in the volume "+l.name+" of the cluster, which cannot be read now: "+naming.Join(err.Error(),
			"Try again later. If that volume is lost for good, `kubectl delete pvc "+l.name+"` lets the machine go on from its last checkpoint."), err)
	}
	bounded, done := context.WithTimeout(ctx, e.patience.end)
	defer done()
	err = e.carryAllHome(bounded, c, carrier, l, to)
	if err != nil && !refused(err) {
		return err
	}
	if err != nil {
		e.cfg.Log.Warn("a volume cannot be read, and is given up. The machine goes on from its last checkpoint", "machine", l.id, "pod", l.name, "error", err)
	}
	if err := c.removePod(ctx, carrier); err != nil {
		return err
	}
	return c.removeVolume(ctx, l.name)
}

// checkpointID is what the name of a checkpoint consists of. It becomes part of a command line.
var checkpointID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,99}$`)

// carryAllHome waits until the machine in a pod has ended, and carries home the newest state that
// it saved: it counts for those before it. What is no saved state is logged and left: it never will
// be one, and must not stand in the way of what is.
func (e *Engine) carryAllHome(ctx context.Context, c *client, pod string, l left, to checkpoint.Folder) error {
	ids, err := c.saved(ctx, pod)
	if err != nil {
		return err
	}
	slices.Reverse(ids)
	for _, id := range ids[:min(len(ids), carry.MostCheckpoints)] {
		err := e.fetch(ctx, c, pod, to, id, 0, l.of)
		if isUseless(err) {
			e.cfg.Log.Warn("a pod holds what is no saved state of its machine", "machine", l.id, "pod", pod, "error", err)
			continue
		}
		if err != nil {
			return e.failed(notFetched, err)
		}
		return nil
	}
	return nil
}

// isUseless says whether a pod gave out something else than a saved state, or nothing.
func isUseless(err error) bool {
	return (errors.Is(err, checkpoint.ErrUnusable) || refused(err)) && !errors.Is(err, errSilent)
}

// saved lists the checkpoints in a pod's volume, the oldest first, once its machine has ended.
func (c *client) saved(ctx context.Context, pod string) (ids []string, err error) {
	err = c.take(ctx, pod, func(out io.Reader) error {
		lines := bufio.NewScanner(io.LimitReader(out, 64<<10))
		for lines.Scan() {
			ids = append(ids, lines.Text())
		}
		return lines.Err()
	}, "saved", machinePath)
	if err != nil {
		return nil, err
	}
	// A connection that broke may end like one that did not.
	if len(ids) == 0 || ids[len(ids)-1] != sandbox.AllSaved {
		return nil, fmt.Errorf("%w: its list breaks off", errSilent)
	}
	return ids[:len(ids)-1], nil
}

const notFetched = "The machine's saved state could not be fetched from the cluster"

// carryHome takes over a checkpoint that is in a pod's volume, unless it is there already.
func (e *Engine) carryHome(ctx context.Context, c *client, pod string, to checkpoint.Folder, id string, memory int64, of carry.Content) error {
	err := e.fetch(ctx, c, pod, to, id, memory, of)
	if errors.Is(err, checkpoint.ErrUnusable) {
		return carry.NotOfMachine(err)
	}
	return e.failed(notFetched, err)
}

// fetchTries bounds how often a checkpoint is asked for that came broken.
const fetchTries = 3

// fetch is carryHome with the error as it came. A busy cluster may cut off what a program gives
// out, and say that all went well (kubernetes/kubernetes#60140).
func (e *Engine) fetch(ctx context.Context, c *client, pod string, to checkpoint.Folder, id string, memory int64, of carry.Content) (err error) {
	for range fetchTries {
		err = e.fetchOnce(ctx, c, pod, to, id, memory, of)
		if !isUseless(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return err
}

// fetchOnce takes a checkpoint from a pod, which may say anything.
func (e *Engine) fetchOnce(ctx context.Context, c *client, pod string, to checkpoint.Folder, id string, memory int64, of carry.Content) error {
	if !checkpointID.MatchString(id) {
		return fmt.Errorf("%w: its id is %.100q", checkpoint.ErrUnusable, id)
	}
	if _, err := to.Load(id); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	err := c.take(ctx, pod, func(archive io.Reader) error { return carry.Home(ctx, archive, to, id, memory, of) }, "give", machinePath, id)
	if errors.Is(err, io.ErrUnexpectedEOF) && !refused(err) { // its volume may be read later
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	if err != nil {
		return err
	}
	if _, err := to.Load(id); err != nil { // a connection that broke may end like one that did not
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return nil
}

// RemoveAll removes what is left in the cluster of all machines of this home, which are gone.
func (e *Engine) RemoveAll(ctx context.Context) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	return e.failed("It could not be removed", e.removeLeft(ctx, c, ""))
}

// removeLeft removes what is left of a machine that is gone, or of all where id is empty.
func (e *Engine) removeLeft(ctx context.Context, c *client, id machine.ID) error {
	all, err := e.listLeft(ctx, c, id)
	for _, one := range all {
		err = errors.Join(err, c.remove(ctx, one.name))
	}
	return err
}

// Reap takes over, or removes, what daemons before this one left in the cluster. What belongs to
// another home is left alone.
func (e *Engine) Reap(ctx context.Context) error {
	e.reaped.Store(true)
	err := e.reapAll(ctx)
	if err != nil {
		e.reaped.Store(false) // Check tries again
	}
	return err
}

// reapLater is Reap when the cluster answers for the first time.
func (e *Engine) reapLater() {
	ctx, cancel := context.WithTimeout(context.Background(), carryPatience)
	defer cancel()
	if err := e.reapAll(ctx); err != nil {
		e.cfg.Log.Warn("something of an earlier daemon stays in the cluster for now", "error", err)
	}
}

func (e *Engine) reapAll(ctx context.Context) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	all, err := e.listLeft(ctx, c, "")
	if err != nil {
		return err
	}
	for _, one := range all {
		err = errors.Join(err, e.reap(ctx, c, one))
	}
	return err
}

func (e *Engine) reap(ctx context.Context, c *client, l left) error {
	if local.ValidID(l.id) != nil {
		return c.remove(ctx, l.name)
	}
	release, _ := e.claims.Try(l.id)
	if release == nil {
		return nil // who is busy with it takes care of that
	}
	defer release()
	return e.settle(ctx, c, l.id)
}

// getPod returns a pod; nil where there is none.
func (c *client) getPod(ctx context.Context, name string) (*core.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	pod, err := c.api.CoreV1().Pods(c.namespace).Get(ctx, name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}

// removePod has a pod end at once. What is gone already is no error.
func (c *client) removePod(ctx context.Context, name string) error {
	return c.deletePod(ctx, name, endSeconds)
}

func (c *client) deletePod(ctx context.Context, name string, grace int64) error {
	return c.deleteBy(ctx, name, meta.DeleteOptions{GracePeriodSeconds: &grace})
}

// deleteThis is deletePod for that very pod, and none that has its name since.
func (c *client) deleteThis(ctx context.Context, name string, which types.UID, grace int64) error {
	err := c.deleteBy(ctx, name, meta.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &meta.Preconditions{UID: &which}})
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (c *client) deleteBy(ctx context.Context, name string, options meta.DeleteOptions) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	err := c.api.CoreV1().Pods(c.namespace).Delete(ctx, name, options)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remove has a pod end, and its volume be removed when it has. The volume stays where the pod does:
// by it, the pod is found again.
func (c *client) remove(ctx context.Context, name string) error {
	if err := c.removePod(ctx, name); err != nil {
		return err
	}
	return c.removeVolume(ctx, name)
}

// abandon is remove for a pod whose node does not answer.
func (c *client) abandon(ctx context.Context, name string) error {
	if err := c.deletePod(ctx, name, 0); err != nil {
		return err
	}
	return c.removeVolume(ctx, name)
}

func (c *client) removeVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	err := c.api.CoreV1().PersistentVolumeClaims(c.namespace).Delete(ctx, name, meta.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// pause waits, unless ctx is done first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
