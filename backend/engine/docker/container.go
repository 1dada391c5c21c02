package docker

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/forevervm/desktop/backend/engine/carry"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/seccomp"
)

// Labels of what is ours in Docker.
const (
	homeLabel    = "dev.forevervm.home"    // whose it is: the id of a data folder
	runLabel     = "dev.forevervm.run"     // the run of the program that made it
	machineLabel = "dev.forevervm.machine" // the machine's id, or what stands for one
	nameLabel    = "dev.forevervm.name"    // the machine's name, for who looks at `docker ps`
	lifeLabel    = "dev.forevervm.life"    // see checkpoint.Manifest
	imageLabel   = "dev.forevervm.image"   // the sandbox image's name, such as "base"
	partsLabel   = "dev.forevervm.parts"   // digests of the sandbox image and of runsc, with a space between
)

// seccompProfile is the containers' filter of system calls; tests put others in its place.
var seccompProfile = seccomp.Profile

// stopSeconds is how long Docker may take to stop a container: its supervisor saves the machine
// when it is asked to end.
const stopSeconds = 60

// spec is one container.
type spec struct {
	image    string
	labels   map[string]string
	volume   string // its own; empty for none
	template string // the template's volume; empty for none
	shared   *machine.SharedFolder
	memory   int64 // bytes, 0 for no limit
	cpus     int   // of Docker's computer
	args     []string
	relaxed  []*relaxation
}

// configs are what Docker is told. Nothing that runs in the container has a privilege, and what it
// can see and do is in README.md.
func (s spec) configs() (*container.Config, *container.HostConfig) {
	pids, stop := int64(sandbox.PidsMax), stopSeconds
	config := &container.Config{
		Image:       s.image,
		Hostname:    "machine",
		User:        fmt.Sprintf("%d:%d", owner, owner),
		Entrypoint:  []string{supervisorPath},
		Cmd:         s.args,
		Labels:      s.labels,
		StopTimeout: &stop,
		// The link. When we are gone, standard input ends, and the supervisor saves the machine.
		AttachStdin: true, AttachStdout: true, AttachStderr: true, OpenStdin: true, StdinOnce: true,
		NetworkDisabled: true,
	}
	host := &container.HostConfig{
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + seccompProfile},
		ReadonlyRootfs: true,
		NetworkMode:    "none",
		IpcMode:        "none",
		// What goes over the link must not be written down a second time.
		LogConfig: container.LogConfig{Type: "none"},
		// The supervisor must be process 1, whatever this Docker's default is.
		Init:          new(bool),
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Resources: container.Resources{
			PidsLimit: &pids,
			CPUShares: sandbox.Weight * 1024 / 100,
			NanoCPUs:  int64(sandbox.Processors(s.cpus) * 1e9),
		},
	}
	if s.volume != "" {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Source: s.volume, Target: machinePath})
	}
	if s.template != "" {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeVolume, Source: s.template, Target: templatePath, ReadOnly: true,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true},
		})
	}
	if f := s.shared; f != nil {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: f.Path, Target: sharedPath, ReadOnly: !f.Writable,
			BindOptions: &mount.BindOptions{NonRecursive: true, Propagation: mount.PropagationRPrivate},
		})
	}
	host.Resources = limited(host.Resources, s.memory)
	for _, r := range s.relaxed {
		r.give(host)
	}
	return config, host
}

// limited sets a limit of memory, in bytes, with no swap beyond it.
func limited(r container.Resources, memory int64) container.Resources {
	r.Memory, r.MemorySwap = memory, memory
	if memory == 0 {
		r.MemorySwap = -1
	}
	return r
}

// containerName is what `docker ps` shows. It says whose the container is and for which of its
// lives, as labels do; but it can be changed.
func (s stay) containerName() string {
	if local.ValidID(s.id) != nil {
		return fmt.Sprintf("forevervm-%s%s", s.id, random())
	}
	return fmt.Sprintf("forevervm-%s-%s-%s", nameWithin(s.name), s.id, carry.LifeTag(s.start.Life))
}

// whose tells the machine of a container, and its life's tag. One that was claimed has that in its
// name alone.
func whose(c container.Summary) (id machine.ID, life string) {
	id, life = machine.ID(c.Labels[machineLabel]), carry.LifeTag(c.Labels[lifeLabel])
	if id != spareID {
		return id, life
	}
	for _, name := range c.Names {
		if parts := strings.Split(name, "-"); len(parts) >= 4 {
			return machine.ID(parts[len(parts)-2]), parts[len(parts)-1]
		}
	}
	return id, life
}

func random() string { return strings.ToLower(rand.Text()[:8]) }

// nameWithin keeps what Docker allows in a name.
func nameWithin(s string) string {
	b := []byte(s)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			b[i] = '-'
		}
	}
	return string(b[:min(len(b), 64)])
}
