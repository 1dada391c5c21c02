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

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
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
	// lostPatience is how long a pod, or a volume, may be there whose node does not answer. Then
	// what only that volume holds is given up: nobody was ever told of it.
	lostPatience = time.Minute
)

// takeOver waits for the end of a pod's machine, carries home what it saved, and removes pod and
// volume.
func (e *Engine) takeOver(ctx context.Context, c *client, l left, to checkpoint.Folder) error {
	var silent time.Time // since when the node has not answered; zero where it has
	killed := false
	for {
		pod, err := c.getPod(ctx, l.name)
		if err != nil {
			return err
		}
		switch state := stateOf(pod); {
		case state == podRuns && killed: // it is about to end
		case state == podRuns:
			killed, err = e.takeFromPod(ctx, c, l, to)
			if err == nil && !killed {
				return nil
			}
		case state == podEnded:
			err = c.removePod(ctx, l.name) // so that another can have the volume
		case state == podGone:
			return e.takeFromVolume(ctx, c, l, to)
		case state == podWaits: // nothing is in its volume
			return c.remove(ctx, l.name)
		}
		if err != nil && !errors.Is(err, errSilent) {
			return err
		}
		if silent.IsZero() {
			silent = time.Now()
		}
		if time.Since(silent) > e.patience.lost {
			return e.giveUp(ctx, c, l, err)
		}
		if err := pause(ctx, lostPoll); err != nil {
			return err
		}
	}
}

// takeFromPod is takeOver for a pod that runs. One that does not end is killed: then its volume
// tells.
func (e *Engine) takeFromPod(ctx context.Context, c *client, l left, to checkpoint.Folder) (killed bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, e.patience.end)
	defer cancel()
	err = e.carryAllHome(bounded, c, l.name, l, to)
	if err == nil {
		return false, c.remove(ctx, l.name)
	}
	if bounded.Err() == nil || ctx.Err() != nil {
		return false, err
	}
	e.cfg.Log.Warn("a pod does not end, and is killed", "machine", l.id, "pod", l.name)
	return true, c.removePod(ctx, l.name)
}

// giveUp removes a pod and a volume whose node does not answer.
func (e *Engine) giveUp(ctx context.Context, c *client, l left, err error) error {
	e.cfg.Log.Warn("a node does not answer: what a volume there may hold is given up. The machine goes on from its last checkpoint", "machine", l.id, "pod", l.name, "error", err)
	return c.abandon(ctx, l.name)
}

// lostPoll is how often a pod is looked at that is about to end.
const lostPoll = 100 * time.Millisecond

// takeFromVolume is takeOver for a volume that has no pod any more: it gets another one, in which no
// machine runs.
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
	soon, done := context.WithTimeout(ctx, 2*e.patience.lost) // a volume may have to move to another node
	defer done()
	if err := e.awaitRunning(soon, c, carrier); err != nil {
		if soon.Err() != nil && ctx.Err() == nil {
			return e.giveUp(ctx, c, l, err)
		}
		return err
	}
	if err := e.carryAllHome(ctx, c, carrier, l, to); err != nil {
		return err
	}
	return c.remove(ctx, l.name)
}

// checkpointID is what the name of a checkpoint consists of. It becomes part of a command line.
var checkpointID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,99}$`)

// carryAllHome waits until the machine in a pod has ended, and carries home what it saved. What is
// no saved state of it is logged and left: it never will be one, and must not stand in the way of
// what is.
func (e *Engine) carryAllHome(ctx context.Context, c *client, pod string, l left, to checkpoint.Folder) error {
	var ids []string
	err := c.take(ctx, pod, func(out io.Reader) error {
		lines := bufio.NewScanner(io.LimitReader(out, 64<<10))
		for lines.Scan() {
			ids = append(ids, lines.Text())
		}
		return lines.Err()
	}, "saved", machinePath)
	if err != nil {
		return err
	}
	slices.Reverse(ids) // the newest first: it counts most
	for _, id := range ids[:min(len(ids), carry.MostCheckpoints)] {
		err := e.carryHome(ctx, c, pod, to, id, 0, l.of)
		var told *machine.Error
		if errors.As(err, &told) && errors.Is(told.Cause, checkpoint.ErrUnusable) {
			e.cfg.Log.Warn("a pod holds what is no saved state of its machine", "machine", l.id, "pod", pod, "error", told.Cause)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// carryHome takes over a checkpoint that is in a pod's volume, unless it is there already. The pod
// may say anything.
func (e *Engine) carryHome(ctx context.Context, c *client, pod string, to checkpoint.Folder, id string, memory int64, of carry.Content) error {
	if !checkpointID.MatchString(id) {
		return carry.NotOfMachine(fmt.Errorf("%w: its id is %.100q", checkpoint.ErrUnusable, id))
	}
	if _, err := to.Load(id); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, carryPatience)
	defer cancel()
	err := c.take(ctx, pod, func(archive io.Reader) error { return carry.Home(ctx, archive, to, id, memory, of) }, "give", machinePath, id)
	if errors.Is(err, checkpoint.ErrUnusable) {
		return carry.NotOfMachine(err)
	}
	if err != nil {
		return e.failed("The machine's saved state could not be fetched from the cluster", err)
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
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	err := c.api.CoreV1().Pods(c.namespace).Delete(ctx, name, meta.DeleteOptions{GracePeriodSeconds: &grace})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remove has a pod end, and its volume be removed when it has.
func (c *client) remove(ctx context.Context, name string) error {
	return errors.Join(c.removePod(ctx, name), c.removeVolume(ctx, name))
}

// abandon is remove for a pod whose node does not answer.
func (c *client) abandon(ctx context.Context, name string) error {
	return errors.Join(c.deletePod(ctx, name, 0), c.removeVolume(ctx, name))
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
