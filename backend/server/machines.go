package server

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
)

// Machines is what the server needs of the domain; *hosted.Machines is it. Errors are those of
// machine.Handle.
type Machines interface {
	// Find returns the machine of a present or old name, in the bin or not.
	Find(ctx context.Context, name string) (machine.Handle, error)
	List(ctx context.Context, filter machine.Filter) (machine.Page[machine.Machine], error)
	Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error)
	// MayUnpack says why a machine from elsewhere could not be made here; nil where nothing is
	// known against it.
	MayUnpack(ctx context.Context, about machine.Foreign, opts machine.CreateOptions) error
	// Unpack makes a machine of one that came from elsewhere. It has no network until a person
	// allows it. Options' zero fields are taken from it.
	Unpack(ctx context.Context, p machine.Parcel, opts machine.CreateOptions) (machine.Machine, error)
	Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error)

	// StartEngine starts what an engine needs, where that is installed and does not run, and tells
	// how the engine stands then.
	StartEngine(ctx context.Context, name string) (machine.EngineStatus, error)
	Status(ctx context.Context) machine.Status

	// Hello notes that a program is there, and has called so many more tools; Clients returns all
	// that were ever seen, the last seen first.
	Hello(ctx context.Context, client machine.Client, calls int) error
	Clients(ctx context.Context) ([]machine.ClientUse, error)

	// AskPermission waits for a person to answer what an AI app asks for, until ctx ends.
	AskPermission(ctx context.Context, p machine.Permission) (machine.Permission, error)
	// Permissions are those that wait for an answer, oldest first.
	Permissions() []machine.Permission
	// AnswerPermission allows or denies what waits.
	AnswerPermission(id int64, allow bool) error

	// Subscribe delivers events after the given position ("" for from now on). When the position is
	// too old or unknown the first event is an EventReset: reload everything. The channel closes
	// when ctx ends or the subscriber is too slow (it then subscribes again from its last
	// position).
	Subscribe(ctx context.Context, after string) <-chan machine.Event
}
