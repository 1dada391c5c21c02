package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/forevervm/desktop/backend/engine/native"
	"github.com/forevervm/desktop/backend/machine"
)

// preparer is an engine that can make ahead of time what its first machine would have to wait for.
type preparer interface {
	Prepare(ctx context.Context) error
}

// engines are those of this computer, and the name of the one that new machines get. One that cannot work here is among
// them all the same: its Check says what is missing.
func (d *daemon) engines() (engines map[string]machine.Engine, standard string, err error) {
	executable, err := d.executable()
	if err != nil {
		return nil, "", err
	}
	bin := filepath.Dir(executable)
	engine := native.New(native.Config{
		Supervisor: filepath.Join(bin, "supervisor"),
		Runsc:      filepath.Join(bin, "runsc"),
		Images:     filepath.Join(bin, "image"),
		Data:       d.dirs.Data,
		Log:        d.log,
	})
	return map[string]machine.Engine{native.Name: engine}, native.Name, nil
}

// prepare lets the engines get ready, in the background; the function it returns waits for that.
func (d *daemon) prepare(ctx context.Context, engines map[string]machine.Engine) (wait func()) {
	var all sync.WaitGroup
	for name, engine := range engines {
		able, ok := engine.(preparer)
		if !ok {
			continue
		}
		all.Go(func() {
			if err := able.Prepare(ctx); err != nil && ctx.Err() == nil {
				// Whoever makes a machine hears of it, and so does whoever looks at the status.
				d.log.Warn("an engine is not ready", "engine", name, "err", err)
			}
		})
	}
	return all.Wait
}

// executable is the forevervm program: this one, or the one in the folder that was given. What it needs lies beside it.
func (d *daemon) executable() (string, error) {
	if d.config.Bin != "" {
		return filepath.Abs(filepath.Join(d.config.Bin, "forevervm"))
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program lies cannot be told: %w", err)
	}
	return filepath.Abs(self)
}
