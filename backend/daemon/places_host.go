package daemon

import (
	"context"
	"errors"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/engine/kubernetes"
	"github.com/forevervm/desktop/backend/engine/remote"
	"github.com/forevervm/desktop/backend/machine"
)

// hostPlace is a place that keeps its machines in a cluster.
type hostPlace struct {
	*remote.Place
	host *kubernetes.Host
	name string
}

func (p *places) openHost(name string, where kubernetes.Cluster) *hostPlace {
	full := kubernetes.HostKind + ":" + name
	host := kubernetes.NewHost(p.clusterConfig(full, where), name, p.agent)
	return &hostPlace{name: name, host: host, Place: remote.New(remote.Config{
		Name: full, Owner: p.owner, Dialer: host, Patience: kubernetes.HostPatience, Idle: ownIdle, Costly: true,
	})}
}

func (p *hostPlace) about() api.Place {
	about := api.Place{Name: p.Name(), Kind: kubernetes.Kind, Address: p.name, Cluster: toldOf(p.host.Where())}
	about.Cluster.Keep = true
	return about
}

// Where is the cluster.
func (p *hostPlace) Where() kubernetes.Cluster { return p.host.Where() }

// Move changes what the pod is made with. Machines there are saved before.
func (p *hostPlace) Move(to kubernetes.Cluster) error {
	err := p.host.Move(to)
	if err == nil {
		p.Reset()
	}
	return err
}

// Check says what is wrong with the cluster, or with the place in it. While it rests, the cluster
// is not asked: nobody waits for that.
func (p *hostPlace) Check(ctx context.Context) []machine.Problem {
	if !p.Resting() {
		if problems := p.host.Check(ctx); len(problems) > 0 {
			return problems
		}
	}
	return p.Place.Check(ctx)
}

// StartUp makes the place try again.
func (p *hostPlace) StartUp(ctx context.Context) error {
	return errors.Join(p.host.Renew(ctx), p.Place.StartUp(ctx))
}

// Notify is machine.Notifier's.
func (p *hostPlace) Notify(listen func(machine.EngineNews)) { p.host.Notify(listen) }

func (p *hostPlace) look(ctx context.Context) (api.PlaceFacts, error) { return lookAt(ctx, p.host) }

func (p *hostPlace) begin() {}

// setUp runs a first machine.
func (p *hostPlace) setUp(ctx context.Context) error { return runFirst(ctx, p) }

// leave removes the pod and the volume.
func (p *hostPlace) leave(ctx context.Context) error {
	if err := p.host.Remove(ctx); err != nil {
		return &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The place is forgotten. Its volume in the cluster stays, as it could not be removed: " + err.Error(), Cause: err,
		}
	}
	return nil
}
