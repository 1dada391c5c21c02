package hosted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/wire"
)

// What follows is described at server.Machines. Each asks the local service unless the name is that of a hosted machine.

// remote is the hosted machine of a name, or nil where it is one of this computer's, or nobody's.
func (m *Machines) remote(ctx context.Context, name string) *remote {
	if _, err := m.Service.Get(ctx, name); err == nil {
		return nil
	}
	s := m.signedIn(ctx)
	if s == nil {
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

// Create makes a machine here, or at the service where that is asked for, or preferred; with the engine "auto" also where none works here. Without a word nothing
// is sent away only because nothing works here.
func (m *Machines) Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	s := m.current()
	if opts.Engine == Name || m.config.Preferred() {
		s = m.signedIn(ctx)
	}
	there := opts.Engine == Name
	switch opts.Engine {
	case "":
		there = m.config.Preferred()
	case "auto":
		there = m.config.Preferred() || s != nil && !m.worksHere(ctx)
	}
	if !there {
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
	r, err := s.known(ctx, wire.Machine{Name: name, CreatedAt: time.Now().UTC(), Tags: opts.Tags}, opts.Title, opts.Client)
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

// StartEngine starts what an engine of this computer needs.
func (m *Machines) StartEngine(ctx context.Context, name string) (machine.EngineStatus, error) {
	if name == Name {
		return machine.EngineStatus{}, &machine.Error{Kind: machine.ErrConflict, Message: "The hosted service does not run on this computer, so there is nothing to start."}
	}
	return m.Service.StartEngine(ctx, name)
}

// worksHere says whether any machine can run on this computer.
func (m *Machines) worksHere(ctx context.Context) bool {
	return slices.ContainsFunc(m.Service.Status(ctx).Engines, func(e machine.EngineStatus) bool { return len(e.Problems) == 0 })
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
