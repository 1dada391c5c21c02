//go:build linux

package native

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
)

// Reclaim tells which checkpoint a life of the machine left that is not known; nil for none. It waits until its supervisor has
// ended. What that made in between was superseded before anybody heard of it, and is removed.
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

// tidy waits until a machine's supervisor has ended and removes what it left; one that has begun meanwhile does that itself.
func tidy(ctx context.Context, dir string) error {
	if err := waitUnlocked(ctx, dir); err != nil {
		return err
	}
	if err := sandbox.Tidy(dir); err != nil && !errors.Is(err, sandbox.ErrLocked) {
		return local.Describe(err)
	}
	return nil
}

// Shelf is the data folder: engines with the same one have their checkpoints together.
func (e *Engine) Shelf() string { return e.store.Config().Data }

// OpenState opens a checkpoint to be read.
func (e *Engine) OpenState(ctx context.Context, id machine.ID, checkpoint string) (machine.OpenState, error) {
	return e.store.OpenState(ctx, id, checkpoint)
}

// Suits says why a state from elsewhere cannot be brought into memory here.
func (e *Engine) Suits(ctx context.Context, image string, needs machine.Needs) error {
	return e.store.Suits(ctx, image, needs)
}

// TakeState gives a machine a checkpoint that came from elsewhere.
func (e *Engine) TakeState(ctx context.Context, id machine.ID, state machine.SavedState, next func(machine.StateFile) (io.Reader, error)) (machine.CheckpointInfo, error) {
	return e.store.TakeState(ctx, id, state, next)
}

// CopyCheckpoint gives machine `to` its own copy.
func (e *Engine) CopyCheckpoint(ctx context.Context, from machine.ID, id string, to machine.ID) (machine.CheckpointInfo, error) {
	return e.store.CopyCheckpoint(ctx, from, id, to)
}

// DeleteCheckpoint removes a checkpoint's bytes.
func (e *Engine) DeleteCheckpoint(_ context.Context, id machine.ID, checkpointID string) error {
	return e.store.DeleteCheckpoint(id, checkpointID)
}

// Keep makes a checkpoint survive a power cut.
func (e *Engine) Keep(ctx context.Context, id machine.ID, checkpointID string, awaited bool) error {
	return e.store.Keep(ctx, id, checkpointID, awaited)
}

// Seal notes what the files of a checkpoint are.
func (e *Engine) Seal(ctx context.Context, id machine.ID, checkpointID string) error {
	return e.store.Seal(ctx, id, checkpointID)
}

// Shrink keeps a checkpoint as blocks alone.
func (e *Engine) Shrink(ctx context.Context, id machine.ID, checkpointID string) (int64, error) {
	return e.store.Shrink(ctx, id, checkpointID)
}

// Collect gives back the room of blocks that no checkpoint needs.
func (e *Engine) Collect(ctx context.Context) error { return e.store.Collect(ctx) }

// Purge removes everything of a machine that is not in memory.
func (e *Engine) Purge(ctx context.Context, id machine.ID) error {
	return e.store.Purge(id, func() error { return tidy(ctx, e.store.Machine(id)) })
}
