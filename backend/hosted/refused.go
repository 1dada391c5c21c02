package hosted

import (
	"context"
	"io"

	"github.com/forevervm/desktop/backend/machine"
)

// refused is what the service has no call for. A remote machine says so in a sentence.
type refused struct{}

func errCheckpoints() error {
	return cannot("make checkpoints of a machine, return to one, or fork one")
}

func errInside() error { return cannot("show what is in a machine: its variables, names and files") }

func errNetwork() error { return cannot("show or limit what a machine reaches") }

func (refused) Update(context.Context, machine.Change) (machine.Machine, error) {
	return machine.Machine{}, cannot("change a machine's name, title, tags, limits or network later")
}

func (refused) Share(context.Context, *machine.SharedFolder) (machine.Machine, error) {
	return machine.Machine{}, cannot("share a folder of this computer with a machine")
}

func (refused) Results() (string, error) {
	return "", cannot("bring a machine's results to a folder of this computer")
}

func (refused) Delete(context.Context) error { return cannot("delete a machine") }
func (refused) Purge(context.Context) error  { return cannot("delete a machine") }

// Restore has nothing to do: no hosted machine is in the bin.
func (refused) Restore(context.Context) error { return nil }

func (refused) Swap(context.Context) error {
	return cannot("move a machine out of memory when asked; it does so automatically")
}

func (refused) Wake(context.Context) error {
	return cannot("bring a machine into memory when asked; it does so when code comes")
}

func (refused) Cancel(context.Context, int) error {
	return cannot("take back one step that waits; stopping the machine cancels all that wait")
}

func (refused) Checkpoint(context.Context, string) (machine.Checkpoint, error) {
	return machine.Checkpoint{}, errCheckpoints()
}

func (refused) Checkpoints(context.Context) ([]machine.Checkpoint, error) { return nil, nil }

func (refused) KeepCheckpoint(context.Context, string, string) (machine.Checkpoint, error) {
	return machine.Checkpoint{}, errCheckpoints()
}

func (refused) DeleteCheckpoint(context.Context, string) error { return errCheckpoints() }

func (refused) Rewind(context.Context, string, string) (machine.Machine, error) {
	return machine.Machine{}, errCheckpoints()
}

func (refused) Branches(context.Context) ([]machine.Branch, error) { return nil, nil }
func (refused) RenameBranch(context.Context, string, string) error { return errCheckpoints() }
func (refused) DeleteBranch(context.Context, string) error         { return errCheckpoints() }
func (refused) Pack(context.Context, string) (machine.Packed, error) {
	return nil, cannot("save a machine as a file")
}
func (refused) Move(context.Context, string) (machine.Machine, error) {
	return machine.Machine{}, cannot("move a machine")
}
func (refused) Variables(context.Context) ([]machine.Variable, error)       { return nil, errInside() }
func (refused) OpenFile(context.Context, string) (*machine.Download, error) { return nil, errInside() }
func (refused) PutFile(context.Context, string, io.Reader) (int64, error)   { return 0, errInside() }
func (refused) RemoveFile(context.Context, string) error                    { return errInside() }
func (refused) MakeFolder(context.Context, string) error                    { return errInside() }
func (refused) Answer(context.Context, int64, machine.Answer) (string, error) {
	return "", errNetwork()
}

func (refused) Contents(context.Context, string) (machine.Contents, error) {
	return machine.Contents{}, errCheckpoints()
}

func (refused) Compare(context.Context, string, string) (machine.Comparison, error) {
	return machine.Comparison{}, errCheckpoints()
}

func (refused) Fork(context.Context, string, machine.CreateOptions) (machine.Machine, error) {
	return machine.Machine{}, errCheckpoints()
}

// Complete finds nothing: the names in a hosted machine are not known.
func (refused) Complete(_ context.Context, _ string, cursor int) (machine.Completions, error) {
	return machine.Completions{Start: cursor, End: cursor}, nil
}

func (refused) Inspect(context.Context, string, int, int) (machine.Inspection, error) {
	return machine.Inspection{}, errInside()
}

func (refused) SaveTable(context.Context, machine.TableQuery, machine.TableFormat) (string, error) {
	return "", errInside()
}

func (refused) Table(context.Context, machine.TableQuery) (machine.Table, error) {
	return machine.Table{}, errInside()
}

func (refused) ListFiles(context.Context, string) (machine.FileList, error) {
	return machine.FileList{}, errInside()
}

func (refused) StatFile(context.Context, string) (machine.FileEntry, error) {
	return machine.FileEntry{}, errInside()
}

func (refused) Network(context.Context) (machine.NetworkState, error) {
	return machine.NetworkState{}, errNetwork()
}

func (refused) Connections(context.Context, machine.ConnectionQuery) ([]machine.Connection, error) {
	return nil, errNetwork()
}
