package kubernetes

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/ociimage"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Labels of what is ours in a namespace.
const (
	managedLabel = "app.kubernetes.io/managed-by" // "forevervm"
	homeLabel    = "forevervm.dev/home"           // whose it is: Config.Owner
	placeLabel   = "forevervm.dev/place"          // what the place is called at home, which may have several in a namespace
	machineLabel = "forevervm.dev/machine"        // the machine's id
	lifeLabel    = "forevervm.dev/life"           // tag of the life, see checkpoint.Manifest
)

// Annotations, which people read in `kubectl describe`.
const (
	nameNote  = "forevervm.dev/name"  // the machine's name
	partsNote = "forevervm.dev/parts" // digests of the sandbox image and of runsc, with a space between
)

// Where things are in a pod.
const (
	containerName  = "machine"
	supervisorPath = ociimage.Supervisor
	machinePath    = ociimage.Machine
	linkFolder     = "/link"
	linkPath       = linkFolder + "/socket"
)

// SeccompProfile is the file of the system call filter, in the kubelet's folder of such.
const SeccompProfile = "forevervm.json"

const (
	// saveSeconds is how long a pod may take to end when its node is drained: the supervisor saves
	// the machine, and what it saved is carried home.
	saveSeconds = 150
	// endSeconds is how long a pod may take to end that has nothing left to do.
	endSeconds = 1

	defaultDiskGB     = 10
	defaultProcessors = 2
)

// stay is one stay of a machine in memory: what its pod is made with.
type stay struct {
	id     machine.ID
	name   string
	life   string
	parts  local.Parts
	image  string // the container's
	memory int64  // the machine's limit in bytes, 0 for none
	args   []string
}

// place is the engine's name without its kind.
func (e *Engine) place() string { return strings.TrimPrefix(e.cfg.Name, Kind+":") }

// labels are those of the pod and of its volume.
func (e *Engine) labels(s stay) map[string]string {
	return map[string]string{
		managedLabel: "forevervm", homeLabel: e.cfg.Owner, placeLabel: e.place(), machineLabel: string(s.id), lifeLabel: carry.LifeTag(s.life),
	}
}

// meta is what the pod and its volume have in common: the name, too.
func (e *Engine) meta(s stay, name string) meta.ObjectMeta {
	return meta.ObjectMeta{
		Name: name, Namespace: e.Where().Namespace, Labels: e.labels(s),
		Annotations: map[string]string{nameNote: s.name, partsNote: s.parts.ImageDigest + " " + s.parts.RuntimeDigest},
	}
}

// podName is unique: a machine may come back before the cluster has forgotten its last pod.
func podName(id machine.ID) string {
	return fmt.Sprintf("forevervm-%s-%s", id, strings.ToLower(rand.Text()[:8]))
}

// supervisorArgs are the command line of a machine's supervisor. restore is a checkpoint's id;
// empty to start afresh.
func supervisorArgs(p local.Parts, restore string) []string {
	config := sandbox.Config{
		Runsc: ociimage.Runsc, RuntimeDigest: p.RuntimeDigest, Image: ociimage.Image, ImageDigest: p.ImageDigest,
		Machine: machinePath, Listen: linkPath, PidsMax: sandbox.PidsMax,
	}
	if restore != "" {
		config.Restore = path.Join(machinePath, restore)
	}
	return append([]string{"run"}, config.Args()...)
}

// claim is the volume of a machine.
func (e *Engine) claim(s stay, name string) *core.PersistentVolumeClaim {
	claim := &core.PersistentVolumeClaim{
		ObjectMeta: e.meta(s, name),
		Spec: core.PersistentVolumeClaimSpec{
			AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
			Resources: core.VolumeResourceRequirements{Requests: core.ResourceList{
				core.ResourceStorage: *resource.NewQuantity(int64(cmp.Or(e.Where().DiskGB, defaultDiskGB))<<30, resource.BinarySI),
			}},
		},
	}
	if class := e.Where().StorageClass; class != "" {
		claim.Spec.StorageClassName = &class
	}
	return claim
}

// pod is the pod that has the volume of that name. It fits Pod Security's level "restricted".
func (e *Engine) pod(s stay, name, volume string) *core.Pod {
	no, yes, owner, grace := false, true, int64(ociimage.Owner), int64(saveSeconds)
	profile := SeccompProfile
	pod := &core.Pod{
		ObjectMeta: e.meta(s, name),
		Spec: core.PodSpec{
			RestartPolicy:                 core.RestartPolicyNever,
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			DNSPolicy:                     core.DNSDefault,
			HostUsers:                     &no, // an escape is nobody on the node
			TerminationGracePeriodSeconds: &grace,
			Hostname:                      "machine",
			SecurityContext: &core.PodSecurityContext{
				RunAsUser: &owner, RunAsGroup: &owner, RunAsNonRoot: &yes, FSGroup: &owner,
				SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeLocalhost, LocalhostProfile: &profile},
			},
			Containers: []core.Container{{
				Name: containerName, Image: s.image, ImagePullPolicy: core.PullIfNotPresent,
				Command: []string{supervisorPath}, Args: s.args,
				SecurityContext: &core.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
					Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
				},
				Resources: core.ResourceRequirements{
					Limits: e.limits(s.memory),
					Requests: core.ResourceList{
						core.ResourceCPU: resource.MustParse("50m"), core.ResourceMemory: *resource.NewQuantity(requestedMemory, resource.BinarySI),
					},
				},
				VolumeMounts: []core.VolumeMount{{Name: "machine", MountPath: machinePath}, {Name: "link", MountPath: linkFolder}},
				ResizePolicy: []core.ContainerResizePolicy{{ResourceName: core.ResourceMemory, RestartPolicy: core.NotRequired}},
			}},
			Volumes: []core.Volume{
				{Name: "machine", VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: volume}}},
				{Name: "link", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{
					Medium: core.StorageMediumMemory, SizeLimit: resource.NewQuantity(1<<20, resource.BinarySI),
				}}},
			},
		},
	}
	if arch, err := ociimage.Architecture(e.cfg.Supervisor); err == nil { // else the image could not be named
		pod.Spec.NodeSelector = map[string]string{core.LabelOSStable: "linux", core.LabelArchStable: arch}
	}
	if secret := e.Where().PullSecret; secret != "" {
		pod.Spec.ImagePullSecrets = []core.LocalObjectReference{{Name: secret}}
	}
	return pod
}

// requestedMemory is what a machine's pod asks of its node, in bytes: what most use. More is shared
// with the node's other pods.
const requestedMemory = 256 << 20

// unlimited stands for no limit, in bytes. A pod's limit can be changed, but not removed.
const unlimited = 256 << 30

// limits are those of the pod of a machine with so much memory.
func (e *Engine) limits(memory int64) core.ResourceList {
	return core.ResourceList{
		core.ResourceCPU:    *resource.NewQuantity(int64(cmp.Or(e.Where().Processors, defaultProcessors)), resource.DecimalSI),
		core.ResourceMemory: *resource.NewQuantity(cmp.Or(sandbox.HardLimit(memory), unlimited), resource.BinarySI),
	}
}

// limitPatch is the change of a running pod's limit of memory.
func (e *Engine) limitPatch(memory int64) ([]byte, error) {
	type container struct {
		Name      string                    `json:"name"`
		Resources core.ResourceRequirements `json:"resources"`
	}
	var patch struct {
		Spec struct {
			Containers []container `json:"containers"`
		} `json:"spec"`
	}
	patch.Spec.Containers = []container{{containerName, core.ResourceRequirements{Limits: e.limits(memory)}}}
	return json.Marshal(patch)
}
