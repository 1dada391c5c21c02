//go:build !linux

package native

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

// Engine is only there to say that it cannot work here.
type Engine struct{}

var _ machine.Engine = (*Engine)(nil)

// New makes the engine.
func New(Config) *Engine { return &Engine{} }

func unavailable() error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: problem.What + " " + problem.Do}
}

var problem = machine.Problem{
	What: "Without Docker, machines run on Linux only.",
	Do:   "Let them run in Docker.",
}

// Name is "native".
func (*Engine) Name() string { return Name }

// Start fails.
func (*Engine) Start(context.Context, machine.StartSpec) (machine.Sandbox, error) {
	return nil, unavailable()
}

// MayShow fails.
func (*Engine) MayShow(context.Context, machine.ID, string, string) error { return unavailable() }

// CheckCompatible fails.
func (*Engine) CheckCompatible(context.Context, string, machine.Needs) error { return unavailable() }

// Reclaim finds nothing.
func (*Engine) Reclaim(context.Context, machine.ID, string, []string) (*machine.CheckpointInfo, error) {
	return nil, nil
}

// Purge has nothing to remove.
func (*Engine) Purge(context.Context, machine.ID) error { return nil }

// Check says that it cannot work here.
func (*Engine) Check(context.Context) []machine.Problem { return []machine.Problem{problem} }

// Close does nothing.
func (*Engine) Close() error { return nil }
