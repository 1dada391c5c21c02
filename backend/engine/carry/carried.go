package carry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox/link"
)

// discardPatience bounds how long the removal of a checkpoint may take that was carried home.
const discardPatience = 30 * time.Second

// Way is how the checkpoints of one machine come home.
type Way struct {
	Machine machine.ID
	From    string            // who has it, for sentences, such as "Docker"
	Folder  checkpoint.Folder // where its checkpoints go
	Life    string            // see checkpoint.Manifest
	Log     *slog.Logger
	// Full makes a sentence of a full disk where the machine is; nil where that is this computer's.
	Full func(error) error
	// Home carries one checkpoint home. It is no error that it is there already.
	Home func(ctx context.Context, id string) error
}

// Carried is a machine in memory whose checkpoints are carried home: it tells of none that is not
// there.
type Carried struct {
	*link.Sandbox // set once the link is there
	way           Way
	saving        chan struct{} // full while a checkpoint is made and carried home
	telling       sync.Mutex
	last          string // id of the newest checkpoint that was told of; empty for none; guarded by telling
}

// On makes ready what is set before the link.
func On(way Way) *Carried { return &Carried{way: way, saving: make(chan struct{}, 1)} }

// taken tells of a checkpoint that the container says it made in this stay, and that is here, what
// is known of it here. An older one is not taken for new: what a new one replaces is deleted.
func (c *Carried) taken(id string) (machine.CheckpointInfo, error) {
	m, err := c.way.Folder.Load(id)
	if err == nil && m.Life != c.way.Life {
		err = errors.New("it is of another life")
	}
	c.telling.Lock()
	defer c.telling.Unlock()
	if err == nil && id < c.last {
		err = errors.New("it is older than another that was told of")
	}
	if err != nil {
		return machine.CheckpointInfo{}, fmt.Errorf("the checkpoint %s: %w", id, err)
	}
	c.last = id
	return link.Info(m), nil
}

// Checkpoint saves the state, durable on our side when it returns, and keeps running. goesOn is
// called before it is carried home, which takes several times as long as the machine stands still.
func (c *Carried) Checkpoint(ctx context.Context, goesOn func()) (machine.CheckpointInfo, error) {
	select { // one after another, so that each is newer than the one before
	case c.saving <- struct{}{}:
		defer func() { <-c.saving }()
	case <-ctx.Done():
		return machine.CheckpointInfo{}, ctx.Err()
	}
	told, err := c.Sandbox.Checkpoint(ctx, nil)
	if err != nil {
		return told, c.refused(err)
	}
	if goesOn != nil {
		goesOn()
	}
	err = c.way.Home(ctx, told.ID)
	// It would go with the container, which is too late where there is one after another.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardPatience)
	defer cancel()
	if discard := c.Discard(quick, told.ID); discard != nil {
		c.way.Log.Debug("a checkpoint that was carried away stays in its container", "machine", c.way.Machine, "error", discard)
	}
	if err != nil {
		return machine.CheckpointInfo{}, err
	}
	info, err := c.taken(told.ID)
	if err != nil {
		return info, NotOfMachine(err)
	}
	return info, nil
}

// refused is why the supervisor did not save.
func (c *Carried) refused(err error) error {
	if c.way.Full != nil && errors.Is(err, machine.ErrDiskFull) {
		return c.way.Full(err)
	}
	return err
}

// Stop saves the state, durable on our side when it returns, and ends the sandbox.
func (c *Carried) Stop(ctx context.Context) (machine.CheckpointInfo, error) {
	told, err := c.Sandbox.Stop(ctx)
	if err != nil {
		return told, c.refused(err)
	}
	if err := ctx.Err(); err != nil {
		return machine.CheckpointInfo{}, err
	}
	info, err := c.taken(told.ID)
	if err != nil {
		return info, &machine.Error{
			Kind:    machine.ErrUnavailable,
			Message: "The machine was saved, but " + c.way.From + " does not give its state out of the container. It is fetched when the machine is wanted next.", Cause: err,
		}
	}
	return info, nil
}

// Cause says why it ended. A checkpoint is told of only when it is here: the supervisor's word is
// not enough.
func (c *Carried) Cause() machine.Cause {
	cause := c.Sandbox.Cause()
	if cause.Checkpoint == nil {
		return cause
	}
	info, err := c.taken(cause.Checkpoint.ID)
	if err == nil {
		cause.Checkpoint = &info
		return cause
	}
	c.way.Log.Warn("a container ended with a checkpoint that is not here", "machine", c.way.Machine, "error", err)
	cause.Checkpoint = nil
	if cause.Kind == machine.EndedStopped {
		cause.Kind = machine.EndedBroken
	}
	return cause
}
