package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/sandbox"
)

func unavailable(sentence string, cause error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: sentence, Cause: cause}
}

// failed makes a sentence of what the cluster did not do. what is its beginning.
func (e *Engine) failed(what string, err error) error {
	var told *machine.Error
	var network net.Error
	var unreached *net.OpError
	switch {
	case err == nil || errors.As(err, &told):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err):
		e.forget()
		return unavailable(what+": the cluster does not know you. Sign in again, so that `kubectl get pods` works, and try again.", err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return unavailable(what+": the namespace has reached its quota. Put machines to sleep there, or ask the cluster's administrator for more ("+clip(err.Error())+").", err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "violates PodSecurity"):
		return unavailable(what+": the namespace forbids its pods: "+clip(err.Error())+". `forevervm kubernetes manifest` prints one that fits: with --keep for a place that keeps its machines, which takes Kubernetes 1.35.", err)
	case apierrors.IsForbidden(err):
		return unavailable(what+": you lack a right in the cluster ("+clip(err.Error())+"). `forevervm kubernetes manifest` prints the rights that are needed.", err)
	case apierrors.IsNotFound(err):
		return unavailable(what+": "+clip(err.Error())+".", err)
	case errors.Is(local.Describe(err), machine.ErrDiskFull): // this computer's
		return local.Describe(err)
	case strings.Contains(err.Error(), "no space left on device"):
		return full(err)
	case errors.As(err, &unreached), errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err):
		return unavailable(fmt.Sprintf("%s: the cluster does not answer. Try again when `kubectl get pods` does (context %q).", what, e.Where().Context), err)
	}
	return unavailable(fmt.Sprintf("%s: %s.", what, clip(err.Error())), err)
}

// What a pod says that may not do what building the sandbox takes.
const (
	forbiddenWords = "The cluster does not let its pods build the sandbox: its nodes forbid them user name spaces or mounts, as AppArmor's and SELinux's defaults do."
	forbiddenDo    = "Ask the cluster's administrator to allow both for these pods, as docs/kubernetes.md says."
)

// full says of a full disk whose it is: this computer's may have room.
func full(err error) error {
	return unavailable("The machine could not be saved: its volume in the cluster is full. Delete files in the machine. "+
		"For larger volumes, add the place again with --disk.", err)
}

// refused says why a machine's supervisor did not start, as far as its pod tells.
func (e *Engine) refused(b *Sandbox, err error) error {
	if b.exit != sandbox.ExitForbidden {
		return err
	}
	e.kept(&problem{what: forbiddenWords, do: forbiddenDo})
	return unavailable(naming.Join(forbiddenWords, forbiddenDo), err)
}
