package docker

import (
	"fmt"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Labels of what is ours in Docker.
const (
	homeLabel    = "dev.forevervm.home"    // whose it is: the id of a data folder
	machineLabel = "dev.forevervm.machine" // the machine's id, or a template's key
	nameLabel    = "dev.forevervm.name"    // the machine's name, for who looks at `docker ps`
	lifeLabel    = "dev.forevervm.life"    // see checkpoint.Manifest
	imageLabel   = "dev.forevervm.image"   // the sandbox image's name, such as "base"
)

// stopSeconds is how long Docker may take to stop a container: its supervisor saves the machine when it is asked to end.
const stopSeconds = 60

// spec is one container.
type spec struct {
	image    string
	labels   map[string]string
	volume   string // its own
	template string // the template's volume; empty for none
	memory   int64  // bytes, 0 for no limit
	cpus     int    // of Docker's computer
	args     []string
	// unconfined: without AppArmor's profile for containers.
	unconfined bool
}

// configs are what Docker is told. Nothing that runs in the container has a privilege, and what it can see and do is in README.md.
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
		LogConfig:     container.LogConfig{Type: "none"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Mounts:        []mount.Mount{{Type: mount.TypeVolume, Source: s.volume, Target: machinePath}},
		Resources: container.Resources{
			PidsLimit: &pids,
			CPUShares: sandbox.Weight * 1024 / 100,
			NanoCPUs:  int64(sandbox.Processors(s.cpus) * 1e9),
		},
	}
	if s.unconfined {
		host.SecurityOpt = append(host.SecurityOpt, "apparmor=unconfined")
	}
	if s.template != "" {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeVolume, Source: s.template, Target: templatePath, ReadOnly: true,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true},
		})
	}
	host.Resources = limited(host.Resources, s.memory)
	return config, host
}

// limited sets a limit of memory, in bytes, of which nothing may be swapped out beyond it.
func limited(r container.Resources, memory int64) container.Resources {
	r.Memory, r.MemorySwap = memory, memory
	if memory == 0 {
		r.MemorySwap = -1
	}
	return r
}

// containerName is what `docker ps` shows.
func containerName(name string, id machine.ID, stay string) string {
	return fmt.Sprintf("forevervm-%s-%.8s-%s", nameWithin(name), id, stay)
}

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
