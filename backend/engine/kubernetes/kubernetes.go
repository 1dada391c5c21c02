// Package kubernetes is the engine of clusters: every machine in memory is a pod of its own, with a
// volume of its own, whose process 1 is the supervisor that the native engine starts as a child
// process. The pod needs no privilege: it fits Pod Security's level "restricted" (pod.go).
//
// Nothing but the cluster's API is used: pods, volume claims, and programs that are run in the pods
// (exec). The link to a supervisor is such a program's input and output. Never attach: the cluster
// writes all that comes over it into logs.
//
// A machine saves itself in its volume. Package carry carries each checkpoint home before anybody
// hears of it. So nothing of a machine that is not in memory lies in the cluster. The volume
// outlives the pod: what a supervisor saved unasked is found there when its node is drained.
package kubernetes

import (
	"log/slog"

	"github.com/forevervm/desktop/backend/engine/local"
)

// Kind is the beginning of the engines' names: a colon and the place's name follow.
const Kind = "kubernetes"

// Cluster says where machines run, and as what. Nothing in it is secret: the kubeconfig file stays
// where it is.
type Cluster struct {
	// Kubeconfig is the file's path, or those of several as in KUBECONFIG; empty for the person's
	// own, as kubectl finds it, or for the pod's own account where this program runs in the
	// cluster.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"` // empty for the kubeconfig's current one
	Namespace  string `json:"namespace"`
	// Repository is where the image is, such as registry.example/forevervm/sandbox. It is asked for
	// by digest: it must be made of the very parts that lie here.
	Repository string `json:"repository"`
	// PullSecret is a Secret of the namespace that the registry wants; empty for none.
	PullSecret   string `json:"pull_secret,omitempty"`
	StorageClass string `json:"storage_class,omitempty"` // empty for the cluster's default
	DiskGB       int    `json:"disk_gb,omitempty"`       // of each volume, in GiB; 0 for 10, and 50 for a host's
	Processors   int    `json:"processors,omitempty"`    // that a machine may use; 0 for 2. A host's machines share them; 0 for 4
	MemoryGB     int    `json:"memory_gb,omitempty"`     // that a host's machines share, in GiB; 0 for 8
}

// Config says what an engine is made with. Paths are absolute.
type Config struct {
	Name       string // such as "kubernetes:company"; what follows the colon can be a label there
	Cluster    Cluster
	Owner      string       // names this daemon's home: 32 hexadecimal digits
	Supervisor string       // the program, for Linux
	Store      *local.Store // where machines lie, and what sandboxes are made of; shared with other engines
	Log        *slog.Logger
}
