//go:build linux

package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// Reclaim tells which checkpoint a life of the machine left that is not known; nil for none. It waits until its supervisor has
// ended. What that made in between was superseded before anybody heard of it, and is removed.
func (e *Engine) Reclaim(ctx context.Context, id machine.ID, life string, known []string) (*machine.CheckpointInfo, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	dir := e.machineDir(id)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err := waitUnlocked(ctx, dir); err != nil {
		return nil, err
	}
	if err := sandbox.Tidy(dir); err != nil && !errors.Is(err, sandbox.ErrLocked) {
		return nil, describe(err)
	}
	newest, superseded, err := folder(dir).Unrecorded(life, known)
	if err != nil {
		return nil, describe(err)
	}
	for _, m := range superseded {
		if err := folder(dir).Delete(m.ID); err != nil {
			return nil, describe(err)
		}
	}
	if newest == nil {
		return nil, nil
	}
	info := link.Info(*newest)
	return &info, nil
}

// CopyCheckpoint gives machine `to` its own copy.
func (e *Engine) CopyCheckpoint(ctx context.Context, from machine.ID, id string, to machine.ID) (machine.CheckpointInfo, error) {
	for _, m := range []machine.ID{from, to} {
		if err := validID(m); err != nil {
			return machine.CheckpointInfo{}, err
		}
	}
	m, err := folder(e.machineDir(from)).Copy(ctx, id, folder(e.machineDir(to)))
	switch {
	case errors.Is(err, checkpoint.ErrUnusable):
		return machine.CheckpointInfo{}, unusable("The checkpoint is missing or damaged.", err)
	case err != nil && ctx.Err() != nil:
		return machine.CheckpointInfo{}, ctx.Err()
	case err != nil:
		return machine.CheckpointInfo{}, describe(err)
	}
	return link.Info(m), nil
}

// DeleteCheckpoint removes a checkpoint's bytes.
func (e *Engine) DeleteCheckpoint(_ context.Context, id machine.ID, checkpointID string) error {
	if err := validID(id); err != nil {
		return err
	}
	if err := folder(e.machineDir(id)).Delete(checkpointID); err != nil {
		return describe(err)
	}
	return nil
}

// Purge removes everything of a machine that is not in memory.
func (e *Engine) Purge(ctx context.Context, id machine.ID) error {
	if err := validID(id); err != nil {
		return err
	}
	dir := e.machineDir(id)
	gone := filepath.Join(e.cfg.Data, "machines", string(id)+".removed")
	if err := os.RemoveAll(gone); err != nil { // left by a purge that was cut off
		return describe(err)
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := waitUnlocked(ctx, dir); err != nil {
		return err
	}
	if err := sandbox.Tidy(dir); err != nil && !errors.Is(err, sandbox.ErrLocked) {
		return describe(err)
	}
	// Out of the way in one step, so that a crash leaves no half machine.
	if err := errors.Join(os.Rename(dir, gone), os.RemoveAll(gone)); err != nil {
		return describe(err)
	}
	return nil
}
