package carry

import (
	"context"
	"errors"
	"os"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// Start is machine.Engine's: start brings a machine into memory that is claimed until its end. A
// checkpoint that is of no use is set aside where the store has it in a second form. Then start is
// called once more.
func (c *Claims) Start(ctx context.Context, store *local.Store, spec machine.StartSpec, start func(local.Parts) (machine.Sandbox, error)) (machine.Sandbox, error) {
	if err := local.ValidID(spec.ID); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer store.Starting()()
	parts, err := store.PartsFor(ctx, spec.Image, spec.ID, spec.Checkpoint)
	if err != nil {
		return nil, err
	}
	release, err := c.Claim(ctx, spec.ID)
	if err != nil {
		return nil, err
	}
	box, err := start(parts)
	if errors.Is(err, machine.ErrCheckpointUnusable) && store.SetAside(ctx, spec.ID, spec.Checkpoint) {
		box, err = start(parts)
	}
	if err != nil {
		release()
		return nil, err
	}
	go func() {
		<-box.Ended()
		release()
	}()
	return box, nil
}

// Reclaim is machine.Engine's: settle waits for the end of what is left of a claimed machine, and
// carries home what it saved.
func (c *Claims) Reclaim(ctx context.Context, store *local.Store, id machine.ID, life string, known []string, settle func() error) (*machine.CheckpointInfo, error) {
	if err := local.ValidID(id); err != nil {
		return nil, err
	}
	if _, err := os.Stat(store.Machine(id)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	release, err := c.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := settle(); err != nil {
		return nil, err
	}
	return store.Reclaim(ctx, id, life, known)
}
