// Package docker is the engine of computers with Docker: every machine is a container of its own,
// whose process 1 is the supervisor that the native engine starts as a child process. The container
// is hardened (container.go; README.md lists what it can see and do): an escape from gVisor ends in
// it.
//
// Docker may be on another computer: nothing is shared with it but its API. A container writes
// checkpoints in a volume that lives as long as it does; each is carried from there (carry.go) to
// package local's folders before anybody hears of it, and back into the next container. So nothing
// of a machine that is not in memory lies in Docker, and the native engine wakes it as well.
package docker

import (
	"log/slog"

	"github.com/forevervm/desktop/backend/engine/local"
)

// Name is the engine's name.
const Name = "docker"

// Config says where things are. Paths are absolute.
type Config struct {
	Supervisor string       // the program, for Linux
	Store      *local.Store // where machines lie, and what sandboxes are made of; shared with the native engine
	// Host is Docker's address, such as unix:///var/run/docker.sock. Where it is empty, Docker is
	// looked for (find.go).
	Host string
	// Registry is a repository, such as registry.example/forevervm/sandbox, from which Docker is to
	// pull the image of these very parts (imagetool puts it there): of use where Docker is far away
	// and the registry is near to it. Where it is empty, or has it not, the image is loaded from
	// here.
	Registry string
	Log      *slog.Logger
}
