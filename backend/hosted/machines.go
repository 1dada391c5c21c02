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

// Find returns a machine of this computer, or else one of the service.
func (m *Machines) Find(ctx context.Context, name string) (machine.Handle, error) {
	here, err := m.Service.Find(ctx, name)
	if err == nil {
		return local{here, m}, nil
	}
	if r := m.remote(ctx, name); r != nil {
		return r, nil
	}
	return nil, err
}

// remote is the hosted machine of a name that no machine of this computer has, or nil.
func (m *Machines) remote(ctx context.Context, name string) *remote {
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

// mayBeCalled refuses a name that a hosted machine has.
func (m *Machines) mayBeCalled(name string) error {
	if s := m.current(); s != nil && s.named(name) != nil {
		return &machine.Error{Kind: machine.ErrNameTaken, Message: "A hosted machine is called " + name + ". Choose another name."}
	}
	return nil
}

// local is a machine of this computer. It knows of the service where that matters.
type local struct {
	machine.Handle
	m *Machines
}

// Update changes the machine, whose name must not be that of a hosted one.
func (l local) Update(ctx context.Context, c machine.Change) (machine.Machine, error) {
	if c.Name != nil {
		if err := l.m.mayBeCalled(*c.Name); err != nil {
			return machine.Machine{}, err
		}
	}
	return l.Handle.Update(ctx, c)
}

// Fork makes a machine of this computer from another: the service takes no states.
func (l local) Fork(ctx context.Context, checkpoint string, opts machine.CreateOptions) (machine.Machine, error) {
	if opts.Engine == Name {
		return machine.Machine{}, errCheckpoints()
	}
	return l.Handle.Fork(ctx, checkpoint, opts)
}

// maxTitle bounds a title, in bytes.
const maxTitle = 200

// Create makes a machine here, or at the service where that is asked for, or preferred; with the
// engine "auto" also where none works here. Without a word nothing is sent away only because
// nothing works here. People of a team make theirs here alone: the account is the daemon's user's.
func (m *Machines) Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	if opts.Owner != "" {
		return m.Service.Create(ctx, opts)
	}
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
		if err := m.mayBeCalled(opts.Name); err != nil {
			return machine.Machine{}, err
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
	return r.Machine(), nil
}

// List returns a page of both kinds. It waits for nobody: of the service it tells what was last
// heard, and has it asked again.
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
			local.Items = append(local.Items, r.Machine())
		}
	}
	return machine.Choose(local.Items, f)
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
