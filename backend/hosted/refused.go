package hosted

import (
	"context"
	"io"

	"github.com/forevervm/desktop/backend/machine"
)

// What follows the service has no call for: of a machine of its it is refused with a sentence.

// Swap moves a machine of this computer out of memory.
func (m *Machines) Swap(ctx context.Context, name string) error {
	if m.remote(ctx, name) != nil {
		return cannot("move a machine out of memory when asked; it does so by itself")
	}
	return m.Service.Swap(ctx, name)
}

// Wake brings a machine of this computer into memory.
func (m *Machines) Wake(ctx context.Context, name string) error {
	if m.remote(ctx, name) != nil {
		return cannot("bring a machine into memory when asked; it does so when code comes")
	}
	return m.Service.Wake(ctx, name)
}

// Share has a machine of this computer see a folder.
func (m *Machines) Share(ctx context.Context, name string, folder *machine.SharedFolder) (machine.Machine, error) {
	if m.remote(ctx, name) != nil {
		return machine.Machine{}, cannot("share a folder of this computer with a machine")
	}
	return m.Service.Share(ctx, name, folder)
}

// Checkpoint saves a machine of this computer.
func (m *Machines) Checkpoint(ctx context.Context, name, label string) (machine.Checkpoint, error) {
	if m.remote(ctx, name) != nil {
		return machine.Checkpoint{}, errCheckpoints()
	}
	return m.Service.Checkpoint(ctx, name, label)
}

func errCheckpoints() error {
	return cannot("make checkpoints of a machine, return to one, or fork one")
}

// Checkpoints returns those of a machine of this computer; of a hosted one there are none.
func (m *Machines) Checkpoints(ctx context.Context, name string) ([]machine.Checkpoint, error) {
	if m.remote(ctx, name) != nil {
		return nil, nil
	}
	return m.Service.Checkpoints(ctx, name)
}

// KeepCheckpoint has one kept.
func (m *Machines) KeepCheckpoint(ctx context.Context, name, id, label string) (machine.Checkpoint, error) {
	if m.remote(ctx, name) != nil {
		return machine.Checkpoint{}, errCheckpoints()
	}
	return m.Service.KeepCheckpoint(ctx, name, id, label)
}

// DeleteCheckpoint removes one.
func (m *Machines) DeleteCheckpoint(ctx context.Context, name, id string) error {
	if m.remote(ctx, name) != nil {
		return errCheckpoints()
	}
	return m.Service.DeleteCheckpoint(ctx, name, id)
}

// Rewind returns a machine of this computer to one.
func (m *Machines) Rewind(ctx context.Context, name, to, keepAs string) (machine.Machine, error) {
	if m.remote(ctx, name) != nil {
		return machine.Machine{}, errCheckpoints()
	}
	return m.Service.Rewind(ctx, name, to, keepAs)
}

// Branches returns those of a machine of this computer; of a hosted one there are none.
func (m *Machines) Branches(ctx context.Context, name string) ([]machine.Branch, error) {
	if m.remote(ctx, name) != nil {
		return nil, nil
	}
	return m.Service.Branches(ctx, name)
}

// Compare compares two states of a machine of this computer.
func (m *Machines) Compare(ctx context.Context, name, a, b string) (machine.Comparison, error) {
	if m.remote(ctx, name) != nil {
		return machine.Comparison{}, errCheckpoints()
	}
	return m.Service.Compare(ctx, name, a, b)
}

// RenameBranch renames one.
func (m *Machines) RenameBranch(ctx context.Context, name, branch, to string) error {
	if m.remote(ctx, name) != nil {
		return errCheckpoints()
	}
	return m.Service.RenameBranch(ctx, name, branch, to)
}

// DeleteBranch removes one.
func (m *Machines) DeleteBranch(ctx context.Context, name, branch string) error {
	if m.remote(ctx, name) != nil {
		return errCheckpoints()
	}
	return m.Service.DeleteBranch(ctx, name, branch)
}

// Fork makes a machine from another of this computer.
func (m *Machines) Fork(ctx context.Context, name, checkpoint string, opts machine.CreateOptions) (machine.Machine, error) {
	if m.remote(ctx, name) != nil || opts.Engine == Name {
		return machine.Machine{}, errCheckpoints()
	}
	return m.Service.Fork(ctx, name, checkpoint, opts)
}

// Pack holds a machine of this computer still.
func (m *Machines) Pack(ctx context.Context, name, checkpoint string) (*machine.Packed, error) {
	if m.remote(ctx, name) != nil {
		return nil, cannot("save a machine as a file")
	}
	return m.Service.Pack(ctx, name, checkpoint)
}

func errInside() error { return cannot("show what is in a machine: its variables, names and files") }

// Complete completes names, of which those in a hosted machine are not known.
func (m *Machines) Complete(ctx context.Context, name, code string, cursor int) (machine.Completions, error) {
	if m.remote(ctx, name) != nil {
		return machine.Completions{Start: cursor, End: cursor}, nil
	}
	return m.Service.Complete(ctx, name, code, cursor)
}

// Inspect tells of a name.
func (m *Machines) Inspect(ctx context.Context, name, code string, cursor, detail int) (machine.Inspection, error) {
	if m.remote(ctx, name) != nil {
		return machine.Inspection{}, errInside()
	}
	return m.Service.Inspect(ctx, name, code, cursor, detail)
}

// Variables lists a machine's.
func (m *Machines) Variables(ctx context.Context, name string) ([]machine.Variable, error) {
	if m.remote(ctx, name) != nil {
		return nil, errInside()
	}
	return m.Service.Variables(ctx, name)
}

// Table reads a page of a table in a machine.
func (m *Machines) Table(ctx context.Context, name string, q machine.TableQuery) (machine.Table, error) {
	if m.remote(ctx, name) != nil {
		return machine.Table{}, errInside()
	}
	return m.Service.Table(ctx, name, q)
}

// OpenFile begins to read a file in a machine.
func (m *Machines) OpenFile(ctx context.Context, name, path string) (*machine.Download, error) {
	if m.remote(ctx, name) != nil {
		return nil, errInside()
	}
	return m.Service.OpenFile(ctx, name, path)
}

// PutFile writes one.
func (m *Machines) PutFile(ctx context.Context, name, path string, content io.Reader) (size int64, err error) {
	if m.remote(ctx, name) != nil {
		return 0, errInside()
	}
	return m.Service.PutFile(ctx, name, path, content)
}

// ListFiles lists a folder.
func (m *Machines) ListFiles(ctx context.Context, name, path string) (machine.FileList, error) {
	if m.remote(ctx, name) != nil {
		return machine.FileList{}, errInside()
	}
	return m.Service.ListFiles(ctx, name, path)
}

// Network says what a machine of this computer may reach.
func (m *Machines) Network(ctx context.Context, name string) (machine.NetworkState, error) {
	if m.remote(ctx, name) != nil {
		return machine.NetworkState{}, errNetwork()
	}
	return m.Service.Network(ctx, name)
}

// Connections lists those of a machine of this computer.
func (m *Machines) Connections(ctx context.Context, name string, q machine.ConnectionQuery) ([]machine.Connection, error) {
	if m.remote(ctx, name) != nil {
		return nil, errNetwork()
	}
	return m.Service.Connections(ctx, name, q)
}

// Answer says whether a machine of this computer may reach what it asks about.
func (m *Machines) Answer(ctx context.Context, name string, connection int64, answer machine.Answer) error {
	if m.remote(ctx, name) != nil {
		return errNetwork()
	}
	return m.Service.Answer(ctx, name, connection, answer)
}

// StatFile tells what is at a path.
func (m *Machines) StatFile(ctx context.Context, name, path string) (machine.FileEntry, error) {
	if m.remote(ctx, name) != nil {
		return machine.FileEntry{}, errInside()
	}
	return m.Service.StatFile(ctx, name, path)
}

// RemoveFile deletes a file or a folder.
func (m *Machines) RemoveFile(ctx context.Context, name, path string) error {
	if m.remote(ctx, name) != nil {
		return errInside()
	}
	return m.Service.RemoveFile(ctx, name, path)
}

// MakeFolder makes a folder.
func (m *Machines) MakeFolder(ctx context.Context, name, path string) error {
	if m.remote(ctx, name) != nil {
		return errInside()
	}
	return m.Service.MakeFolder(ctx, name, path)
}
