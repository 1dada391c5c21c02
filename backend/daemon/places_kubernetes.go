package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/engine/kubernetes"
	"github.com/forevervm/desktop/backend/machine"
)

// ownClusterVariable has, in the environment of a daemon that runs in a cluster, the settings of
// that cluster as JSON (kubernetes.Cluster). Then machines are made there where nobody names a
// place.
const ownClusterVariable = "FOREVERVM_KUBERNETES"

// inOwnCluster is the engine of that cluster.
const inOwnCluster = kubernetes.Kind + ":own"

// openOwnCluster makes the engine of the cluster that this daemon runs in; nil where it runs in
// none.
func (p *places) openOwnCluster() (machine.Engine, error) {
	settings := os.Getenv(ownClusterVariable)
	if settings == "" {
		return nil, nil
	}
	var where kubernetes.Cluster
	if err := json.Unmarshal([]byte(settings), &where); err != nil {
		return nil, fmt.Errorf("%s is not the settings of a cluster: %w. `forevervm kubernetes manifest --daemon` prints some", ownClusterVariable, err)
	}
	if err := p.keepOwner(); err != nil {
		return nil, err
	}
	return p.engineOf(inOwnCluster, where), nil
}

func (p *places) engineOf(name string, where kubernetes.Cluster) *kubernetes.Engine {
	return kubernetes.New(p.clusterConfig(name, where))
}

func (p *places) clusterConfig(name string, where kubernetes.Cluster) kubernetes.Config {
	return kubernetes.Config{
		Name: name, Cluster: where, Owner: p.owner, Supervisor: p.supervisor, Store: p.store, Log: p.log.With("place", name),
	}
}

// clusterPlace is a place in a cluster. Its machines are saved on this computer.
type clusterPlace struct {
	*kubernetes.Engine
	name string
}

// clusterName is what a cluster may be called here. It becomes a label there.
var clusterName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]{0,58}[0-9A-Za-z])?$`)

func (p *places) openCluster(name string, where api.Cluster) (place, error) {
	if !clusterName.MatchString(name) {
		return nil, machine.Invalid("%q cannot be the name of a cluster here. Give it one of letters, digits and hyphens: forevervm places add kubernetes NAME", name)
	}
	if where.Namespace == "" || where.Repository == "" {
		return nil, machine.Invalid("Say in which namespace of the cluster machines are to run, and in which repository of a registry their image is.")
	}
	if where.MemoryGb != 0 && !where.Keep {
		return nil, machine.Invalid("Each machine in a cluster has a limit of memory of its own. Say --memory with --keep alone.")
	}
	if where.Keep {
		return p.openHost(name, cluster(where)), nil
	}
	return &clusterPlace{name: name, Engine: p.engineOf(kubernetes.Kind+":"+name, cluster(where))}, nil
}

// inCluster is a place in a cluster, of either kind.
type inCluster interface {
	Where() kubernetes.Cluster
	Move(to kubernetes.Cluster) error
}

// cluster is where a place is, as its engine has it.
func cluster(where api.Cluster) kubernetes.Cluster {
	return kubernetes.Cluster{
		Kubeconfig: where.Kubeconfig, Context: where.Context, Namespace: where.Namespace, Repository: where.Repository,
		PullSecret: where.PullSecret, StorageClass: where.StorageClass, DiskGB: where.DiskGb, Processors: where.Processors, MemoryGB: where.MemoryGb,
	}
}

// toldOf is cluster the other way round.
func toldOf(w kubernetes.Cluster) *api.Cluster {
	return &api.Cluster{
		Kubeconfig: w.Kubeconfig, Context: w.Context, Namespace: w.Namespace, Repository: w.Repository,
		PullSecret: w.PullSecret, StorageClass: w.StorageClass, DiskGb: w.DiskGB, Processors: w.Processors, MemoryGb: w.MemoryGB,
	}
}

func (p *clusterPlace) about() api.Place {
	return api.Place{Name: p.Name(), Kind: kubernetes.Kind, Address: p.name, Cluster: toldOf(p.Where())}
}

// look finds out whether machines can run there, as far as the cluster tells without any.
func (p *clusterPlace) look(ctx context.Context) (api.PlaceFacts, error) {
	return lookAt(ctx, p.Engine)
}

// lookAt looks at a cluster.
func lookAt(ctx context.Context, c interface {
	Version(ctx context.Context) (version, processor string, err error)
	Check(ctx context.Context) []machine.Problem
	Where() kubernetes.Cluster
}) (api.PlaceFacts, error) {
	version, processor, err := c.Version(ctx)
	if err != nil {
		return api.PlaceFacts{}, err
	}
	if err := mended(c.Check(ctx)); err != nil {
		return api.PlaceFacts{}, err
	}
	return api.PlaceFacts{System: "Kubernetes " + version, Processor: processor, Folder: c.Where().Namespace, Installed: true}, nil
}

func (p *clusterPlace) begin() {}

// setUp runs a first machine.
func (p *clusterPlace) setUp(ctx context.Context) error { return runFirst(ctx, p) }

// leave removes what could not be removed when its machines went.
func (p *clusterPlace) leave(ctx context.Context) error {
	if err := p.RemoveAll(ctx); err != nil {
		return &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The place is forgotten. What may be left of its machines in the cluster could not be removed: " + err.Error(), Cause: err,
		}
	}
	return nil
}
