package machine

import "context"

// Store keeps the records. What Write has returned from survives the death of the process; what
// WriteSync has returned from survives a power cut too. Writes fail with ErrDiskFull when there is
// no room, and then change nothing. All methods may be called from any goroutine.
type Store interface {
	// Machines returns every machine, those in the bin included, with NextSeq and LastActiveAt
	// filled in.
	Machines(ctx context.Context) ([]MachineRecord, error)
	// Unfinished returns all instructions that are queued or running, in order within each machine,
	// without code.
	Unfinished(ctx context.Context) ([]InstructionRecord, error)

	// Instruction returns one, or ErrNotFound.
	Instruction(ctx context.Context, id ID, seq int) (InstructionRecord, error)
	// Keyed returns the sequence number of the instruction that was sent with a key, or
	// ErrNotFound.
	Keyed(ctx context.Context, id ID, key string) (int, error)
	// Instructions returns a page; it may be shorter than asked for when the instructions are
	// large. Next is the sequence number to go on from.
	Instructions(ctx context.Context, id ID, q InstructionQuery) (Page[Instruction], error)
	// Items returns stored items with index >= from, in order, at most limit and at most a few MiB
	// but always one.
	Items(ctx context.Context, id ID, seq, from, limit int) (ItemPage, error)

	// Plots returns a page of what a machine's instructions have drawn, newest first, without the
	// data and what was cleared or replaced.
	Plots(ctx context.Context, id ID, q PlotQuery) (Page[Plot], error)

	// Overflows returns progress of instructions after a number that have an overflow file, in
	// order, some at a time.
	Overflows(ctx context.Context, id ID, after int) ([]InstructionRecord, error)

	// Checkpoint returns one, or ErrNotFound.
	Checkpoint(ctx context.Context, checkpoint string) (CheckpointRecord, error)
	// Checkpoints returns a machine's, newest first.
	Checkpoints(ctx context.Context, id ID) ([]CheckpointRecord, error)
	Garbage(ctx context.Context) ([]Garbage, error)
	// RolledBack returns which instructions up to and including last have lost their effect.
	RolledBack(ctx context.Context, id ID, last int) ([]Span, error)

	// Search looks in code, output and results; id "" means all machines outside the bin.
	// MachineName of the hits is the present one.
	Search(ctx context.Context, q SearchQuery, id ID) (Page[SearchHit], error)

	// Connections returns those of a machine that are over, newest first; q.Limit is set.
	Connections(ctx context.Context, id ID, q ConnectionQuery) ([]Connection, error)

	// Clients returns all programs that were ever seen, the last seen first.
	Clients(ctx context.Context) ([]ClientUse, error)

	Write(ctx context.Context, change func(Writer) error) error
	WriteSync(ctx context.Context, change func(Writer) error) error
	// Sync makes what Write has returned from survive a power cut, too. It takes as long as the
	// disk does.
	Sync() error
	// Scrub sees to it that nothing of what was removed is left in the files. It fails when
	// somebody is just reading them.
	Scrub(ctx context.Context) error
}

// Writer is what can be changed within one write, which happens wholly or not at all.
type Writer interface {
	// PutMachine adds or replaces a machine. ErrNameTaken when another has the name or had it.
	PutMachine(m MachineRecord) error
	// RemoveMachine removes a machine and everything that belongs to it.
	RemoveMachine(id ID) error

	AddInstruction(in InstructionRecord) error
	// PutInstruction replaces everything but code, client, key and what was asked for.
	PutInstruction(in InstructionRecord) error
	// Index makes a finished instruction findable.
	Index(in Instruction, output string) error
	// MarkLost sets which instructions have lost their effect: those in spans that ever started,
	// and no others.
	MarkLost(id ID, spans []Span) error

	AddItems(id ID, seq int, items []StoredItem) error
	// RemoveItems removes from <= index < to.
	RemoveItems(id ID, seq, from, to int) error

	// PutCheckpoint adds or replaces one.
	PutCheckpoint(c CheckpointRecord) error
	// RemoveCheckpoint forgets one. What came from it comes from where it came from, then.
	RemoveCheckpoint(checkpoint string) error
	AddGarbage(g Garbage) error
	RemoveGarbage(g Garbage) error

	// AddConnection adds one that is over. Of each machine KeptConnections are kept, or a few more.
	AddConnection(id ID, c Connection) error

	// PutClient notes when a program was last seen, and adds to its calls.
	PutClient(c ClientUse) error

	// CopyHistory copies instructions up to and including last, with their items and index, from
	// one machine to another. When running is set, that instruction is copied as it was then,
	// running.
	CopyHistory(from, to ID, last int, running *Mark) error
}
