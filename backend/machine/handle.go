package machine

import (
	"context"
	"io"
)

// Handle is one machine, found by its name once, and all that can be asked of it. A machine that is
// renamed keeps its handles. One that is purged answers ErrNotFound, also to who is half through
// its history. All methods may be called from any goroutine.
//
// Errors: errors.Is tells ErrNotFound, ErrNameTaken, ErrInvalid, ErrConflict (not possible in this
// state) and ErrUnavailable (not possible here; the message says why and what to do) from internal
// ones. Each carries a sentence for a person.
type Handle interface {
	// Name is what the machine is called now.
	Name() string
	// Machine is the machine as it is now, in the bin or not.
	Machine() Machine
	// Update changes what is not nil in the change, all or nothing.
	Update(ctx context.Context, change Change) (Machine, error)
	// Share has the machine see a folder of this computer at SharedPath, or none where it is nil.
	Share(ctx context.Context, folder *SharedFolder) (Machine, error)
	// Results returns the path of the folder on this computer that has the machine's results. It
	// returns an ErrConflict where there are none.
	Results() (string, error)
	Delete(ctx context.Context) error  // to the bin; checkpoints first
	Restore(ctx context.Context) error // from the bin
	Purge(ctx context.Context) error   // for good; in the bin or not
	Swap(ctx context.Context) error    // out of memory
	Wake(ctx context.Context) error    // into memory

	// Execute queues an instruction and returns it (StatusQueued or further). With opts.Interrupt
	// what runs is interrupted and what waits is cancelled first; interrupted says whether there
	// was anything.
	Execute(ctx context.Context, opts ExecuteOptions) (in Instruction, interrupted bool, err error)
	Interrupt(ctx context.Context) error                     // the running instruction
	InterruptInstruction(ctx context.Context, seq int) error // this one, if it is the running one
	Cancel(ctx context.Context, seq int) error               // a queued one

	Instruction(ctx context.Context, seq int) (Instruction, error)
	// Wait returns the instruction once it is done, or as it is when ctx ends (with ctx's error).
	Wait(ctx context.Context, seq int) (Instruction, error)
	Instructions(ctx context.Context, q InstructionQuery) (Page[Instruction], error)
	// Items returns the stored output items with index >= from, at most limit.
	Items(ctx context.Context, seq, from, limit int) ([]Item, error)
	// Follow calls yield with each item from index `from` on, stored ones first and then as they
	// come, until the instruction is done; then it returns the finished instruction. A yield error
	// ends it.
	Follow(ctx context.Context, seq, from int, yield func(Item) error) (Instruction, error)
	// Output returns all that is kept of an instruction's output as text, the overflow file
	// included.
	Output(ctx context.Context, seq int) (OutputReader, error)
	// Plots returns a page of what the machine's instructions have drawn, newest first.
	Plots(ctx context.Context, q PlotQuery) (Page[Plot], error)

	Checkpoint(ctx context.Context, label string) (Checkpoint, error) // manual, kept
	Checkpoints(ctx context.Context) ([]Checkpoint, error)            // newest first
	// KeepCheckpoint has a checkpoint kept until it is deleted, under a label.
	KeepCheckpoint(ctx context.Context, id, label string) (Checkpoint, error)
	DeleteCheckpoint(ctx context.Context, id string) error
	// Rewind returns the machine to a checkpoint, or to where the branch with that name ends. What
	// is left stays as a branch called keepAs; "" makes a name up.
	Rewind(ctx context.Context, to, keepAs string) (Machine, error)
	Branches(ctx context.Context) ([]Branch, error) // the last left first
	RenameBranch(ctx context.Context, branch, to string) error
	DeleteBranch(ctx context.Context, branch string) error
	// Contents tells what a checkpoint holds; the branch with that name, where it ends.
	Contents(ctx context.Context, checkpoint string) (Contents, error)
	// Compare tells in what two states differ: checkpoints, or branches by their names; "" is the
	// present state.
	Compare(ctx context.Context, a, b string) (Comparison, error)
	// Fork makes a new machine from a checkpoint; "" forks the present state. Options' zero fields
	// are taken from the parent.
	Fork(ctx context.Context, checkpoint string, opts CreateOptions) (Machine, error)
	// Move has the machine live at another place, the engine of that name, under its name and with
	// its history. What runs is paused meanwhile. The checkpoints go along, except automatic ones
	// of the past where the places have a store each.
	Move(ctx context.Context, to string) (Machine, error)
	// Pack copies a checkpoint, or with "" the present state, to be written to a file. The copy
	// lasts until it is closed or ctx ends.
	Pack(ctx context.Context, checkpoint string) (Packed, error)

	Complete(ctx context.Context, code string, cursor int) (Completions, error)
	Inspect(ctx context.Context, code string, cursor, detail int) (Inspection, error)
	Variables(ctx context.Context) ([]Variable, error)
	// Table reads a page of a variable that is a table.
	Table(ctx context.Context, q TableQuery) (Table, error)
	// SaveTable writes all rows that the query's filters leave, in its order, to a new file in the
	// machine's /tmp, and returns its path. The caller removes the file.
	SaveTable(ctx context.Context, q TableQuery, format TableFormat) (path string, err error)

	// OpenFile begins to read a file, one state of it.
	OpenFile(ctx context.Context, path string) (*Download, error)
	// PutFile writes a file, which is seen when it is whole.
	PutFile(ctx context.Context, path string, content io.Reader) (size int64, err error)
	ListFiles(ctx context.Context, path string) (FileList, error)
	StatFile(ctx context.Context, path string) (FileEntry, error)
	RemoveFile(ctx context.Context, path string) error
	MakeFolder(ctx context.Context, path string) error

	Network(ctx context.Context) (NetworkState, error)
	// Connections returns those that are not over, and of the others those on record, newest first.
	Connections(ctx context.Context, q ConnectionQuery) ([]Connection, error)
	// Answer answers the question about a connection that waits for one.
	Answer(ctx context.Context, connection int64, answer Answer) (host string, err error)
}
