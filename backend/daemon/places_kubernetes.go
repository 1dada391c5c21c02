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
	return kubernetes.New(kubernetes.Config{
		Name: name, Cluster: where, Owner: p.owner, Supervisor: p.supervisor, Store: p.store, Log: p.log.With("place", name),
	})
}

// clusterPlace is a place in a cluster. Its machines are saved on this computer.
type clusterPlace struct {
	*kubernetes.Engine
	name string
}

// clusterName is what a cluster may be called here. It becomes a label there.
var clusterName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]{0,58}[0-9A-Za-z])?$`)

func (p *places) openCluster(name string, where api.Cluster) (*clusterPlace, error) {
	if !clusterName.MatchString(name) {
		return nil, machine.Invalid("%q cannot be the name of a cluster here. Give it one of letters, digits and hyphens: forevervm places add kubernetes NAME", name)
	}
	if where.Namespace == "" || where.Repository == "" {
		return nil, machine.Invalid("Say in which namespace of the cluster machines are to run, and in which repository of a registry their image is.")
	}
	return &clusterPlace{name: name, Engine: p.engineOf(kubernetes.Kind+":"+name, cluster(where))}, nil
}

// cluster is where a place is, as its engine has it.
func cluster(where api.Cluster) kubernetes.Cluster {
	return kubernetes.Cluster{
		Kubeconfig: where.Kubeconfig, Context: where.Context, Namespace: where.Namespace, Repository: where.Repository,
		PullSecret: where.PullSecret, StorageClass: where.StorageClass, DiskGB: where.DiskGb, Processors: where.Processors,
	}
}

func (p *clusterPlace) about() api.Place {
	w := p.Where()
	return api.Place{Name: p.Name(), Kind: kubernetes.Kind, Address: p.name, Cluster: &api.Cluster{
		Kubeconfig: w.Kubeconfig, Context: w.Context, Namespace: w.Namespace, Repository: w.Repository,
		PullSecret: w.PullSecret, StorageClass: w.StorageClass, DiskGb: w.DiskGB, Processors: w.Processors,
	}}
}

// look finds out whether machines can run there, as far as the cluster tells without any.
func (p *clusterPlace) look(ctx context.Context) (api.PlaceFacts, error) {
	version, processor, err := p.Version(ctx)
	if err != nil {
		return api.PlaceFacts{}, err
	}
	if err := mended(p.Check(ctx)); err != nil {
		return api.PlaceFacts{}, err
	}
	return api.PlaceFacts{System: "Kubernetes " + version, Processor: processor, Folder: p.Where().Namespace, Installed: true}, nil
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
