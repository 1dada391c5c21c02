package machine

import (
	"context"
	"io"
)

// Told is an instruction of a history that is told, with all that is kept of its output.
type Told struct {
	Instruction
	// Items calls yield with each item, in order. It is called once, before the next instruction is
	// told.
	Items func(yield func(Item) error) error
}

// Foreign is what a machine is that came from elsewhere.
type Foreign struct {
	Name     string
	Title    string
	Tags     map[string]string
	Image    string // "base", "ml"
	MemoryMB int
	State    SavedState // the history has every instruction up to its last, from 0 on
}

// Parcel is a machine that came from elsewhere, as who reads its file tells it. What it tells may
// be made up by who means harm: Unpack checks all of it.
type Parcel interface {
	About() Foreign
	// NextFile reads the next of the state's files.
	NextFile(StateFile) (io.Reader, error)
	// History calls yield with each instruction, from 0 on, once all files were read.
	History(ctx context.Context, yield func(Told) error) error
}

// Packed is a machine as it was at a checkpoint, held still to be written elsewhere. Close it.
type Packed interface {
	About() Foreign
	// Open opens one of the state's files.
	Open(name string) (io.ReadCloser, error)
	// History calls yield with each instruction up to the checkpoint, in order.
	History(ctx context.Context, yield func(Told) error) error
	// Close lets go of what was held.
	Close()
}
