package server

import (
	"context"
	"io"

	"github.com/forevervm/desktop/backend/machine"
)

// Machines is what the server needs of the domain; *machine.Service is it. Machines are addressed by name; an old
// name (from before a rename) works as an alias. Errors: errors.Is tells machine.ErrNotFound, ErrNameTaken,
// ErrInvalid, ErrConflict (not possible in this state), ErrUnavailable (the engine can't; the message says why and what to do) from
// internal ones; each carries a sentence for a person.
type Machines interface {
	Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error)
	Get(ctx context.Context, name string) (machine.Machine, error)
	List(ctx context.Context, filter machine.Filter) (machine.Page[machine.Machine], error)
	// Update changes what is not nil in the change, all or nothing.
	Update(ctx context.Context, name string, change machine.Change) (machine.Machine, error)
	Delete(ctx context.Context, name string) error  // to the bin; checkpoints first
	Restore(ctx context.Context, name string) error // from the bin
	Purge(ctx context.Context, name string) error   // for good; machine in the bin or not

	// Execute queues an instruction and returns it (StatusQueued or further). With opts.Interrupt what runs is
	// interrupted and what waits is cancelled first; interrupted says whether there was anything.
	Execute(ctx context.Context, name string, opts machine.ExecuteOptions) (in machine.Instruction, interrupted bool, err error)
	Instruction(ctx context.Context, name string, seq int) (machine.Instruction, error)
	// Wait returns the instruction once it is done, or as it is when ctx ends (with ctx's error).
	Wait(ctx context.Context, name string, seq int) (machine.Instruction, error)
	Instructions(ctx context.Context, name string, q machine.InstructionQuery) (machine.Page[machine.Instruction], error)
	// Plots returns a page of what a machine's instructions have drawn, newest first.
	Plots(ctx context.Context, name string, q machine.PlotQuery) (machine.Page[machine.Plot], error)
	// Items returns the stored output items with index >= from, at most limit.
	Items(ctx context.Context, name string, seq, from, limit int) ([]machine.Item, error)
	// Follow calls yield with each item from index `from` on, stored ones first and then as they come, until the
	// instruction is done; then it returns the finished instruction. A yield error ends it.
	Follow(ctx context.Context, name string, seq, from int, yield func(machine.Item) error) (machine.Instruction, error)
	// Output returns all that is kept of an instruction's output as text, the overflow file included.
	Output(ctx context.Context, name string, seq int) (machine.OutputReader, error)
	Interrupt(ctx context.Context, name string) error                     // the running instruction
	InterruptInstruction(ctx context.Context, name string, seq int) error // this one, if it is the running one
	Cancel(ctx context.Context, name string, seq int) error               // a queued one
	Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error)
	// StartEngine starts what an engine needs, where that is installed and does not run, and tells how the engine stands then.
	StartEngine(ctx context.Context, name string) (machine.EngineStatus, error)

	Swap(ctx context.Context, name string) error
	Wake(ctx context.Context, name string) error
	Checkpoint(ctx context.Context, name, label string) (machine.Checkpoint, error) // manual, kept
	Checkpoints(ctx context.Context, name string) ([]machine.Checkpoint, error)     // newest first
	// KeepCheckpoint has a checkpoint kept until it is deleted, under a label.
	KeepCheckpoint(ctx context.Context, name, id, label string) (machine.Checkpoint, error)
	DeleteCheckpoint(ctx context.Context, name, id string) error
	// Rewind returns a machine to a checkpoint, or to where the branch with that name ends. What is left stays as a branch called keepAs; "" makes a name up.
	Rewind(ctx context.Context, name, to, keepAs string) (machine.Machine, error)
	Branches(ctx context.Context, name string) ([]machine.Branch, error) // the last left first
	RenameBranch(ctx context.Context, name, branch, to string) error
	DeleteBranch(ctx context.Context, name, branch string) error
	// Compare tells in what two states differ: checkpoints, or branches by their names; "" is the present state.
	Compare(ctx context.Context, name, a, b string) (machine.Comparison, error)
	// Fork makes a new machine from a checkpoint; "" forks the present state. Options' zero fields are taken from the parent.
	Fork(ctx context.Context, name, checkpoint string, opts machine.CreateOptions) (machine.Machine, error)

	// Pack holds a machine still as it was at a checkpoint, or with "" as it is, until what is returned is closed or ctx ends.
	Pack(ctx context.Context, name, checkpoint string) (*machine.Packed, error)
	// MayUnpack says why a machine from elsewhere could not be made here; nil where nothing is known against it.
	MayUnpack(ctx context.Context, about machine.Foreign, opts machine.CreateOptions) error
	// Unpack makes a machine of one that came from elsewhere. It has no network until a person allows it. Options' zero fields are taken from it.
	Unpack(ctx context.Context, p machine.Parcel, opts machine.CreateOptions) (machine.Machine, error)

	// Share has a machine see a folder of this computer at machine.SharedPath, or none where it is nil.
	Share(ctx context.Context, name string, folder *machine.SharedFolder) (machine.Machine, error)

	Complete(ctx context.Context, name, code string, cursor int) (machine.Completions, error)
	Inspect(ctx context.Context, name, code string, cursor, detail int) (machine.Inspection, error)
	Variables(ctx context.Context, name string) ([]machine.Variable, error)
	// Table reads a page of a variable that is a table.
	Table(ctx context.Context, name string, q machine.TableQuery) (machine.Table, error)
	// OpenFile begins to read a file, one state of it.
	OpenFile(ctx context.Context, name, path string) (*machine.Download, error)
	// PutFile writes a file, which is seen when it is whole.
	PutFile(ctx context.Context, name, path string, content io.Reader) (size int64, err error)
	ListFiles(ctx context.Context, name, path string) (machine.FileList, error)
	StatFile(ctx context.Context, name, path string) (machine.FileEntry, error)
	RemoveFile(ctx context.Context, name, path string) error
	MakeFolder(ctx context.Context, name, path string) error

	Network(ctx context.Context, name string) (machine.NetworkState, error)
	// Connections returns those that are not over, and of the others those on record, newest first.
	Connections(ctx context.Context, name string, q machine.ConnectionQuery) ([]machine.Connection, error)
	// Answer answers the question about a connection that waits for one.
	Answer(ctx context.Context, name string, connection int64, answer machine.Answer) error

	// Hello notes that a program is there, and has called so many more tools; Clients returns all that were ever seen, the last seen first.
	Hello(ctx context.Context, client machine.Client, calls int) error
	Clients(ctx context.Context) ([]machine.ClientUse, error)

	// Subscribe delivers events after the given position ("" for from now on). When the position is too old
	// or unknown the first event is an EventReset: reload everything. The channel closes when ctx ends or the
	// subscriber is too slow (it then subscribes again from its last position).
	Subscribe(ctx context.Context, after string) <-chan machine.Event
	Status(ctx context.Context) machine.Status
}
