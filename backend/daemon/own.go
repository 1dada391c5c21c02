package daemon

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/forevervm/desktop/backend/engine/docker"
	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/machine"
)

// ownPlace is a Linux on this computer, where that does not run one itself: in a virtual machine,
// or in WSL. It is set up without a person's doing.
type ownPlace interface {
	machine.Place
	// Prepare sets it up, where that was not done before.
	Prepare(ctx context.Context) error
}

const (
	// ownIdle is how long nobody uses such a place until the pipe to it is closed.
	ownIdle = time.Minute
	// oneOwner is this home's name there (remote.Config.Owner): it has no other.
	oneOwner = "00000000000000000000000000000000"
)

// ofSystem is the engine that belongs to this system. What is wrong with it is what a person should
// hear of where none works.
func ofSystem() string {
	switch {
	case os.Getenv(ownClusterVariable) != "":
		return inOwnCluster
	case wantsVM():
		return inVM
	case runtime.GOOS == "windows":
		return inWSL
	case runtime.GOOS == "linux":
		return native.Name
	}
	return docker.Name
}

// openOwn makes the place of this computer; nil where it has none. It starts nothing.
func (d *daemon) openOwn(bin string, store *local.Store) (ownPlace, error) {
	if runtime.GOOS == "windows" {
		return d.openWSL(bin), nil
	}
	v, err := d.openVM(bin, store)
	if v == nil || err != nil {
		return nil, err
	}
	return v, nil
}
