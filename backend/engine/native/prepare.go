//go:build linux

package native

import (
	"context"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// Prepare sweeps what supervisors left that were killed, and makes the template of the image that
// machines get by default, where it is not there, and a sandbox for the first machine, so that this
// is ready at once.
func (e *Engine) Prepare(ctx context.Context) error {
	cgroup.Sweep()
	p, err := e.store.Parts("base")
	if err != nil {
		return err
	}
	if _, err = e.template(ctx, p); err == nil {
		e.spares.refill(config(p, ""))
	}
	return err
}
