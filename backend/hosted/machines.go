package hosted

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// What follows is described at server.Machines. Each asks the local service unless the name is that of a hosted machine.

// remote is the hosted machine of a name, or nil where it is one of this computer's, or nobody's.
func (m *Machines) remote(ctx context.Context, name string) *remote {
	s := m.current()
	if s == nil {
		return nil
	}
	if _, err := m.Service.Get(ctx, name); err == nil {
		return nil
	}
	if r := s.named(name); r != nil {
		return r
	}
	if short, ok := strings.CutSuffix(name, suffix); ok {
		return s.named(short)
	}
	return nil
}

// maxTitle bounds a title, in bytes.
const maxTitle = 200

// Create makes a machine here, or at the service where that is asked for, or preferred.
func (m *Machines) Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	s := m.current()
	if opts.Engine != Name && (opts.Engine != "" && opts.Engine != "auto" || !m.config.Preferred()) {
		if s != nil && opts.Name != "" && s.named(opts.Name) != nil {
			return machine.Machine{}, &machine.Error{Kind: machine.ErrNameTaken, Message: "A hosted machine is called " + opts.Name + ". Choose another name."}
		}
		return m.Service.Create(ctx, opts)
	}
	if s == nil {
		m.mu.Lock()
		problem := m.problem
		m.mu.Unlock()
		if problem == "" {
			problem = "Nobody is signed in at the hosted service: sign in in the window, or with `forevervm login`. For machines on this computer, `forevervm settings set new_machines local`."
		}
		return machine.Machine{}, &machine.Error{Kind: machine.ErrUnavailable, Message: problem}
	}
	switch {
	case opts.Name != "":
		return machine.Machine{}, cannot("give a machine a name of your choice")
	case len(opts.Title) > maxTitle:
		return machine.Machine{}, invalid(errors.New("the title is too long"))
	case opts.ExpiresAt != nil:
		return machine.Machine{}, cannot("let a machine expire")
	case opts.Image != "" && opts.Image != "base":
		return machine.Machine{}, cannot("use another image")
	}
	// A caller who leaves must not lose sight of a machine that the service makes.
	ctx = context.WithoutCancel(ctx)
	name, err := s.wire.New(ctx, wire.NewMachine{Tags: opts.Tags, MemoryMB: opts.MemoryMB})
	if err == nil && !usableName(name) {
		err = errors.New("the hosted service made a machine of a name that cannot be used here")
	}
	if err != nil {
		return machine.Machine{}, explain(err)
	}
	r, err := s.known(ctx, wire.Machine{Name: name, CreatedAt: time.Now().UTC(), Tags: opts.Tags}, opts.Title)
	if err != nil {
		return machine.Machine{}, err
	}
	r.mu.Lock()
	r.inside = true
	r.mu.Unlock()
	r.publish()
	return r.machine(), nil
}

// Get returns a machine.
func (m *Machines) Get(ctx context.Context, name string) (machine.Machine, error) {
	if r := m.remote(ctx, name); r != nil {
		return r.machine(), nil
	}
	return m.Service.Get(ctx, name)
}

// List returns a page of both kinds. It waits for nobody: of the service it tells what was last heard, and has it asked again.
func (m *Machines) List(ctx context.Context, f machine.Filter) (machine.Page[machine.Machine], error) {
	s := m.current()
	if s == nil || f.Deleted {
		return m.Service.List(ctx, f)
	}
	local, err := m.Service.List(ctx, machine.Filter{Limit: -1})
	if err != nil {
		return local, err
	}
	s.poke()
	for _, r := range s.remotes() {
		if !r.isGone() {
			local.Items = append(local.Items, r.machine())
		}
	}
	return machine.Choose(local.Items, f)
}

// Update changes a machine of this computer.
func (m *Machines) Update(ctx context.Context, name string, c machine.Change) (machine.Machine, error) {
	if m.remote(ctx, name) != nil {
		return machine.Machine{}, cannot("change a machine's name, title, tags, limits or network later")
	}
	if s := m.current(); s != nil && c.Name != nil && s.named(*c.Name) != nil {
		return machine.Machine{}, &machine.Error{Kind: machine.ErrNameTaken, Message: "A hosted machine is called " + *c.Name + ". Choose another name."}
	}
	return m.Service.Update(ctx, name, c)
}

// Delete moves a machine of this computer to the bin.
func (m *Machines) Delete(ctx context.Context, name string) error {
	if m.remote(ctx, name) != nil {
		return cannot("delete a machine")
	}
	return m.Service.Delete(ctx, name)
}

// Purge removes a machine of this computer.
func (m *Machines) Purge(ctx context.Context, name string) error {
	if m.remote(ctx, name) != nil {
		return cannot("delete a machine")
	}
	return m.Service.Purge(ctx, name)
}

// Execute sends an instruction, here or to the service.
func (m *Machines) Execute(ctx context.Context, name string, opts machine.ExecuteOptions) (machine.Instruction, bool, error) {
	if r := m.remote(ctx, name); r != nil {
		return r.execute(ctx, opts)
	}
	return m.Service.Execute(ctx, name, opts)
}

// Instruction returns an instruction as it is now.
func (m *Machines) Instruction(ctx context.Context, name string, seq int) (machine.Instruction, error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Instruction(ctx, name, seq)
	}
	return r.instruction(ctx, seq)
}

// instruction returns one that is on record, putting it there if it was sent from elsewhere.
func (r *remote) instruction(ctx context.Context, seq int) (machine.Instruction, error) {
	in, err := r.s.records.Instruction(ctx, r.rec.ID, seq)
	if errors.Is(err, machine.ErrNotFound) {
		if err = r.adopt(ctx, seq); err == nil {
			in, err = r.s.records.Instruction(ctx, r.rec.ID, seq)
		}
	}
	return in.Instruction, err
}

// Wait returns an instruction once it is over.
func (m *Machines) Wait(ctx context.Context, name string, seq int) (machine.Instruction, error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Wait(ctx, name, seq)
	}
	for {
		changed := r.next()
		in, err := r.instruction(ctx, seq)
		if err != nil || in.Status.Done() {
			return in, err
		}
		if err := r.await(ctx, changed); err != nil {
			return in, err
		}
	}
}

// next is closed when something gets on.
func (r *remote) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// await waits for something to get on.
func (r *remote) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.s.ctx.Done():
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "Somebody signed out of the hosted service, or ForeverVM is being stopped. The instruction goes on there."}
	}
}

const (
	usualPage  = 50
	mostOnPage = 500
)

// Instructions returns a page of what went through this computer.
func (m *Machines) Instructions(ctx context.Context, name string, q machine.InstructionQuery) (machine.Page[machine.Instruction], error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Instructions(ctx, name, q)
	}
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Limit = min(q.Limit, mostOnPage)
	return r.s.records.Instructions(ctx, r.rec.ID, q)
}

const mostPlots = 200

// Plots returns a page of what was drawn, as far as it went through this computer.
func (m *Machines) Plots(ctx context.Context, name string, q machine.PlotQuery) (machine.Page[machine.Plot], error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Plots(ctx, name, q)
	}
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Limit = min(q.Limit, mostPlots)
	return r.s.records.Plots(ctx, r.rec.ID, q)
}

const pageItems = 1000

// Items returns recorded output.
func (m *Machines) Items(ctx context.Context, name string, seq, from, limit int) ([]machine.Item, error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Items(ctx, name, seq, from, limit)
	}
	if limit <= 0 || limit > pageItems {
		limit = pageItems
	}
	page, err := r.s.records.Items(ctx, r.rec.ID, seq, max(0, from), limit)
	return page.Items, err
}

// Follow yields output until the instruction is over.
func (m *Machines) Follow(ctx context.Context, name string, seq, from int, yield func(machine.Item) error) (machine.Instruction, error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Follow(ctx, name, seq, from, yield)
	}
	if _, err := r.instruction(ctx, seq); err != nil {
		return machine.Instruction{}, err
	}
	for from = max(0, from); ; {
		changed := r.next()
		page, err := r.s.records.Items(ctx, r.rec.ID, seq, from, pageItems)
		if err != nil {
			return machine.Instruction{}, err
		}
		for _, item := range page.Items {
			if err := yield(item); err != nil {
				return machine.Instruction{}, err
			}
			from = item.Index + 1
		}
		switch {
		case len(page.Items) > 0:
		case page.Record.Status.Done():
			return r.instruction(ctx, seq)
		default:
			if err := r.await(ctx, changed); err != nil {
				return machine.Instruction{}, err
			}
		}
	}
}

// Output returns the text of the recorded output.
func (m *Machines) Output(ctx context.Context, name string, seq int) (machine.OutputReader, error) {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Output(ctx, name, seq)
	}
	in, err := r.instruction(ctx, seq)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	out := &outputReader{PipeReader: reader, size: in.OutputBytes - in.OutputDropped}
	r.s.spawn(func() {
		var err error
		for from := 0; err == nil && from < in.Items; {
			var items []machine.Item
			if items, err = m.Items(ctx, name, seq, from, 0); err == nil && len(items) == 0 {
				break
			}
			for _, item := range items {
				if err == nil {
					_, err = writer.Write(item.Text)
				}
				from = item.Index + 1
			}
		}
		writer.CloseWithError(err)
	})
	return out, nil
}

type outputReader struct {
	*io.PipeReader
	size int64
}

// Size is how many bytes there are.
func (o *outputReader) Size() int64 { return o.size }

// Interrupt stops what runs, and cancels what waits: the service cannot do the one without the other. It does so with an instruction that does nothing.
func (m *Machines) Interrupt(ctx context.Context, name string) error {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.Interrupt(ctx, name)
	}
	r.mu.Lock()
	busy := len(r.open) > 0 || r.pending
	r.mu.Unlock()
	if !busy {
		return nil
	}
	_, _, err := r.execute(ctx, machine.ExecuteOptions{
		Code: "None  # stops what runs", Timeout: time.Minute, Interrupt: true, Client: machine.Client{Name: "ForeverVM"},
	})
	return err
}

// InterruptInstruction stops an instruction if it is the one that runs.
func (m *Machines) InterruptInstruction(ctx context.Context, name string, seq int) error {
	r := m.remote(ctx, name)
	if r == nil {
		return m.Service.InterruptInstruction(ctx, name, seq)
	}
	if open := r.unfinished(); !slices.Contains(open, seq) || open[0] != seq {
		return nil
	}
	return m.Interrupt(ctx, name)
}

// Cancel takes a waiting instruction out of the queue of a machine of this computer.
func (m *Machines) Cancel(ctx context.Context, name string, seq int) error {
	if m.remote(ctx, name) != nil {
		return cannot("take back one instruction that waits; stopping the machine cancels all that wait")
	}
	return m.Service.Cancel(ctx, name, seq)
}

// searchRest begins the cursors of the part of a search that is about hosted machines, which comes after the other.
const searchRest = "hosted:"

// Search looks in what ran here, and then in what went to the service from here.
func (m *Machines) Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error) {
	s := m.current()
	cursor, rest := strings.CutPrefix(q.Cursor, searchRest)
	var page machine.Page[machine.SearchHit]
	r := (*remote)(nil)
	if q.Machine != "" {
		r = m.remote(ctx, q.Machine)
	}
	if !rest && r == nil {
		var err error
		if page, err = m.Service.Search(ctx, q); err != nil || page.Next != "" || s == nil || q.Machine != "" {
			return page, err
		}
		cursor = ""
	}
	if s == nil {
		return page, nil
	}
	id := machine.ID("")
	if r != nil {
		id = r.rec.ID
	}
	if q.Limit <= 0 {
		q.Limit = usualPage
	}
	q.Cursor, q.Limit = cursor, min(q.Limit, mostOnPage)
	found, err := s.records.Search(ctx, q, id)
	if err != nil {
		return page, err
	}
	for _, hit := range found.Items {
		if r := s.named(hit.MachineName); r != nil {
			hit.MachineName = r.shown()
			page.Items = append(page.Items, hit)
		}
	}
	if found.Next != "" {
		page.Next = searchRest + found.Next
	}
	return page, nil
}

// StartEngine starts what an engine of this computer needs.
func (m *Machines) StartEngine(ctx context.Context, name string) (machine.EngineStatus, error) {
	if name == Name {
		return machine.EngineStatus{}, &machine.Error{Kind: machine.ErrConflict, Message: "The hosted service does not run on this computer, so there is nothing to start."}
	}
	return m.Service.StartEngine(ctx, name)
}

// Status adds the service to the engines while somebody is, or should be, signed in.
func (m *Machines) Status(ctx context.Context) machine.Status {
	st := m.Service.Status(ctx)
	m.mu.Lock()
	s, problem := m.session, m.problem
	m.mu.Unlock()
	if s != nil {
		problem = s.trouble()
	}
	if s == nil && problem == "" {
		return st
	}
	engine := machine.EngineStatus{Name: Name, Default: m.config.Preferred()}
	if problem != "" {
		engine.Problems = []machine.Problem{{What: problem, Do: "Machines on this computer go on as usual. `forevervm whoami` says more."}}
	}
	st.Engines = append(slices.Clone(st.Engines), engine)
	if engine.Default {
		for i := range st.Engines[:len(st.Engines)-1] {
			st.Engines[i].Default = false
		}
	}
	return st
}

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
func (m *Machines) Rewind(ctx context.Context, name, checkpoint string) (machine.Machine, error) {
	if m.remote(ctx, name) != nil {
		return machine.Machine{}, errCheckpoints()
	}
	return m.Service.Rewind(ctx, name, checkpoint)
}

// Fork makes a machine from another of this computer.
func (m *Machines) Fork(ctx context.Context, name, checkpoint string, opts machine.CreateOptions) (machine.Machine, error) {
	if m.remote(ctx, name) != nil || opts.Engine == Name {
		return machine.Machine{}, errCheckpoints()
	}
	return m.Service.Fork(ctx, name, checkpoint, opts)
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
