//go:build linux

package native

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Reclaim tells which checkpoint a life of the machine left that is not known; nil for none. It
// waits until its supervisor has ended. What that made in between was superseded before anybody
// heard of it, and is removed.
func (e *Engine) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	if err := local.ValidID(id); err != nil {
		return nil, err
	}
	dir := e.store.Machine(id)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := tidy(ctx, dir); err != nil {
		return nil, err
	}
	return e.store.Reclaim(ctx, id, life, known)
}

// tidy waits until a machine's supervisor has ended and removes what it left; one that has begun
// meanwhile does that itself.
func tidy(ctx context.Context, dir string) error {
	if err := waitUnlocked(ctx, dir); err != nil {
		return err
	}
	if err := sandbox.Tidy(dir); err != nil && !errors.Is(err, sandbox.ErrLocked) {
		return local.Describe(err)
	}
	return nil
}

// CheckCompatible says why a state from elsewhere cannot be brought into memory here.
func (e *Engine) CheckCompatible(ctx context.Context, image string, needs machine.Needs) error {
	return e.store.CheckCompatible(ctx, image, needs)
}

// Purge removes everything of a machine that is not in memory.
func (e *Engine) Purge(ctx context.Context, id machine.ID) error {
	return e.store.Purge(id, func() error { return tidy(ctx, e.store.Machine(id)) })
}
