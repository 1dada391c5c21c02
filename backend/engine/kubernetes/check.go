package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/machine"
)

// right is one that is needed in the namespace.
type right struct{ resource, subresource, verb string }

func (r right) String() string {
	return r.verb + " " + strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
}

// rights are all that are needed, as manifest.yaml grants them.
var rights = []right{
	{"pods", "", "get"}, {"pods", "", "create"}, {"pods", "", "delete"},
	{"persistentvolumeclaims", "", "get"}, {"persistentvolumeclaims", "", "list"},
	{"persistentvolumeclaims", "", "create"}, {"persistentvolumeclaims", "", "delete"},
	{"pods", "exec", "get"}, {"pods", "exec", "create"}, {"pods", "resize", "patch"},
}

const (
	// checkPatience bounds the looking for problems.
	checkPatience = 20 * time.Second
	// checkAgain is how long what was found counts: people look often.
	checkAgain = 30 * time.Second
	// keptFor is how long the last machine that could not be started is told of.
	keptFor = 10 * time.Minute
)

// checked remembers what was found.
type checked struct {
	mu       sync.Mutex // held while problems are looked for
	at       time.Time
	problems []machine.Problem

	keptMu sync.Mutex
	kept   *problem // what kept the last machine from starting; nil for nothing
	keptAt time.Time
}

// Check says what keeps machines from running in the cluster: parts that are missing here, a
// cluster that does not answer, rights, and what the cluster says of a pod and a volume that it is
// shown but does not make. What only its nodes know, such as a filter that is missing there, is
// told when it has kept a machine from starting.
func (e *Engine) Check(ctx context.Context) []machine.Problem {
	e.checked.mu.Lock()
	defer e.checked.mu.Unlock()
	if time.Since(e.checked.at) > checkAgain {
		ctx, cancel := context.WithTimeout(ctx, checkPatience)
		defer cancel()
		problems := e.look(ctx)
		if errors.Is(ctx.Err(), context.Canceled) {
			return problems
		}
		e.checked.problems, e.checked.at = problems, time.Now()
		if len(problems) == 0 && e.reaped.CompareAndSwap(false, true) { // it did not answer when the engine started
			e.running.Go(e.reapLater)
		}
	}
	problems := slices.Clone(e.checked.problems)
	e.checked.keptMu.Lock()
	defer e.checked.keptMu.Unlock()
	if p := e.checked.kept; p != nil && len(problems) == 0 && time.Since(e.checked.keptAt) < keptFor {
		problems = append(problems, machine.Problem{What: p.what, Do: p.do})
	}
	return problems
}

// StartUp makes the next Check look again: the person may have mended the fault.
func (e *Engine) StartUp(context.Context) error {
	e.checked.mu.Lock()
	defer e.checked.mu.Unlock()
	e.checked.at = time.Time{}
	e.kept(nil)
	e.forget()
	return nil
}

var _ machine.Starter = (*Engine)(nil)

// kept notes what kept a machine from starting; nil for nothing.
func (e *Engine) kept(p *problem) {
	e.checked.keptMu.Lock()
	defer e.checked.keptMu.Unlock()
	e.checked.kept, e.checked.keptAt = p, time.Now()
}

func (e *Engine) look(ctx context.Context) []machine.Problem {
	if _, err := e.store.Parts("base"); err != nil {
		return []machine.Problem{{What: "A part of the sandbox is missing.", Do: err.Error()}}
	}
	c, err := e.connect()
	if err != nil {
		return problemOf(err)
	}
	var lacking []string
	for _, r := range rights {
		allowed, err := c.may(ctx, r)
		if err != nil {
			return problemOf(e.failed("The rights in the cluster could not be looked at", err))
		}
		if !allowed {
			lacking = append(lacking, r.String())
		}
	}
	if len(lacking) > 0 {
		return []machine.Problem{{
			What: fmt.Sprintf("You lack rights in the namespace %q: %s.", c.namespace, strings.Join(lacking, ", ")),
			Do:   "Ask the cluster's administrator to apply what `forevervm kubernetes manifest` prints.",
		}}
	}
	// The cluster is shown what would be made. It says whether it would take that.
	volume, pod, err := e.trial(e.Where().Repository + ":trial")
	if err != nil {
		return problemOf(err)
	}
	if there, err := c.getPod(ctx, pod.Name); err == nil && there != nil {
		return nil // it has taken that
	}
	dry := meta.CreateOptions{DryRun: []string{meta.DryRunAll}}
	_, err = c.api.CoreV1().PersistentVolumeClaims(c.namespace).Create(ctx, volume, dry)
	if err == nil || apierrors.IsAlreadyExists(err) { // as a host's is
		_, err = c.api.CoreV1().Pods(c.namespace).Create(ctx, pod, dry)
	}
	if err != nil && !strings.Contains(err.Error(), "does not support dry run") { // an admission webhook of the cluster's own
		return problemOf(e.failed("The cluster would not take a machine", err))
	}
	return nil
}

// machine is what a machine's pod and volume would be.
func (e *Engine) machine(image string) (*core.PersistentVolumeClaim, *core.Pod, error) {
	parts, err := e.store.Parts("base")
	s := stay{id: "trial", name: "trial", parts: parts, image: image, memory: machine.DefaultMemoryMB << 20}
	name := podName(s.id)
	return e.claim(s, name), e.pod(s, name, name), err
}

// problemOf is an error as a problem.
func problemOf(err error) []machine.Problem {
	var told *machine.Error
	if errors.As(err, &told) {
		return []machine.Problem{{What: told.Message}}
	}
	return []machine.Problem{{What: "The cluster did not answer.", Do: "Try again in a moment."}}
}

// may says whether the cluster grants us a right in the namespace.
func (c *client) may(ctx context.Context, r right) (bool, error) {
	answer, err := c.api.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorization.SelfSubjectAccessReview{
		Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{
			Namespace: c.namespace, Group: core.GroupName, Resource: r.resource, Subresource: r.subresource, Verb: r.verb,
		}},
	}, meta.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}
