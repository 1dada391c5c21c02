package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/sandbox"
)

// podState is what matters of a pod here.
type podState int

const (
	podGone  podState = iota
	podWaits          // its program has never run
	podRuns
	podEnded // its program has ended
)

// stateOf tells the state of a pod; nil is one that is gone.
func stateOf(pod *core.Pod) podState {
	if pod == nil {
		return podGone
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Running != nil:
			return podRuns
		case c.State.Terminated != nil:
			return podEnded
		}
	}
	if pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed {
		return podEnded
	}
	return podWaits
}

const (
	// runPoll is how often a pod is looked at that is about to run; less and less, until maxPoll.
	runPoll = 50 * time.Millisecond
	maxPoll = time.Second
	// roomPatience is how long a cluster may take to find a node for a pod. It may have to start
	// one.
	roomPatience = 4 * time.Minute
	// filterPatience is how long a new node may be without the filter.
	filterPatience = 30 * time.Second
	// fetchPatience is how long an image may not be fetched. A registry may be away for a moment.
	fetchPatience = 10 * time.Second
)

// awaitRunning waits until a pod's program runs. The error is a sentence that says what keeps it.
func (e *Engine) awaitRunning(ctx context.Context, c *client, name string) error {
	defer e.news.busy(nil)
	began, poll := time.Now(), runPoll
	var last *problem
	for {
		pod, err := c.getPod(ctx, name)
		if err == nil {
			err = ctx.Err()
		}
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) { // this is no slow answer
			e.kept(last)
			return unavailable(last.words(), err)
		}
		if err != nil {
			return err
		}
		switch stateOf(pod) {
		case podRuns:
			e.kept(nil)
			return nil
		case podGone:
			return unavailable("The pod was removed before it ran. Try again.", nil)
		case podEnded:
			return endedEarly(pod)
		}
		waits, problem := keptBack(pod)
		after := time.Since(began)
		if problem != nil && after > problem.patience {
			e.kept(problem)
			return unavailable(problem.words(), nil)
		}
		if after > tellAfter {
			e.news.busy(&machine.Preparation{What: waits})
		}
		last = problem
		select {
		case <-time.After(poll):
		case <-ctx.Done(): // it is looked at above
		}
		poll = min(poll*5/4, maxPoll)
	}
}

// tellAfter is how long people are not told that a pod is waited for.
const tellAfter = 2 * time.Second

// problem is what keeps a pod from running.
type problem struct {
	what, do string
	patience time.Duration // it may pass by itself within that
}

func (p *problem) words() string {
	if p == nil {
		return "The pod does not run. `kubectl describe pod` says why."
	}
	return strings.TrimSpace(p.what + " " + p.do)
}

// keptBack says what a pod waits for, and what keeps it from running; nil for nothing.
func keptBack(pod *core.Pod) (waits string, p *problem) {
	waits = "Starting a pod in the cluster"
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status == core.ConditionFalse && c.Reason == core.PodReasonUnschedulable {
			return "Waiting for room in the cluster", unschedulable(c.Message)
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Waiting == nil {
			continue
		}
		said := c.State.Waiting.Message
		switch c.State.Waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
			return waits, &problem{
				fmt.Sprintf("The cluster cannot fetch the sandbox image %s: %s.", pod.Spec.Containers[0].Image, clip(said)),
				"Put this version's image into the registry (`forevervm kubernetes push`), and see to it that the cluster may read it.", fetchPatience,
			}
		case "CreateContainerError", "RunContainerError", "CreateContainerConfigError":
			return waits, refusedByNode(said)
		}
	}
	return waits, nil
}

func unschedulable(said string) *problem {
	switch {
	case strings.Contains(said, "persistentvolumeclaim") || strings.Contains(said, "PersistentVolumeClaim") || strings.Contains(said, "volume"):
		return &problem{"The cluster has no volume for the pod: " + clip(said) + ".", "Choose a storage class that makes volumes by itself, or ask the cluster's administrator for one.", roomPatience}
	default:
		return &problem{"The cluster has no room for the pod: " + clip(said) + ".", "Stop machines there, or ask the cluster's administrator for more nodes.", roomPatience}
	}
}

// refusedByNode says why a node's container runtime did not start a pod's program.
func refusedByNode(said string) *problem {
	switch {
	case strings.Contains(said, "seccomp") && strings.Contains(said, "no such file"):
		return &problem{
			"A node of the cluster lacks the system call filter " + SeccompProfile + ".",
			"Ask the cluster's administrator to apply what `forevervm kubernetes manifest` prints: it puts the filter onto each node.", filterPatience,
		}
	case strings.Contains(said, "user namespace"):
		return &problem{
			"A node of the cluster cannot give pods user name spaces: " + clip(said) + ".",
			"They need Linux 6.3, containerd 2.0 and runc 1.2, or newer.", 0,
		}
	}
	return &problem{"A node of the cluster does not start the pod: " + clip(said) + ".", "Ask the cluster's administrator.", fetchPatience}
}

// endedEarly says why a pod's program ended before its machine came into memory.
func endedEarly(pod *core.Pod) error {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			if t.ExitCode == sandbox.ExitForbidden {
				return unavailable(naming.Join(forbiddenWords, forbiddenDo), nil)
			}
			return unavailable(fmt.Sprintf("The pod ended at once, with the status %d (%s). `kubectl logs %s` says more.", t.ExitCode, clip(t.Reason), pod.Name), nil)
		}
	}
	return unavailable(fmt.Sprintf("The pod ended at once: %s.", clip(pod.Status.Message)), nil)
}

// awaitLimit waits until a running pod has its new limit of memory, in bytes.
func (b *Sandbox) awaitLimit(ctx context.Context, memory int64) error {
	want := b.e.limits(memory)[core.ResourceMemory]
	for {
		pod, err := b.c.getPod(ctx, b.pod)
		if err != nil {
			return err
		}
		if stateOf(pod) != podRuns {
			return nil // who uses it hears of that
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.Resources != nil && c.Resources.Limits.Memory().Cmp(want) == 0 {
				return nil
			}
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == core.PodResizePending && c.Status == core.ConditionTrue {
				return unavailable("The node of the machine has no room for a higher limit: "+clip(c.Message)+". Put the machine to sleep: it wakes where there is room.", nil)
			}
		}
		if err := pause(ctx, runPoll); err != nil {
			return err
		}
	}
}

// clip bounds what a cluster says, which may be long, and ends it without a full stop.
func clip(said string) string {
	const most = 300
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > most {
		said = said[:most] + "…"
	}
	return strings.TrimRight(strings.ToValidUTF8(said, ""), ".")
}
