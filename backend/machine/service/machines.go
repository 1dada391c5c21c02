package service

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Create makes a machine. The only one begins to come into memory, so that it is ready when it is
// used; others stay on the disk until then.
func (s *Service) Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	if s.isClosing() {
		return machine.Machine{}, machine.Closing()
	}
	if err := s.roomForMore(); err != nil {
		return machine.Machine{}, err
	}
	rec, err := s.newRecord(opts)
	if err != nil {
		return machine.Machine{}, err
	}
	s.naming.Lock()
	if opts.Name == "" {
		rec.Name = s.unusedName()
	}
	err = s.store.Write(ctx, func(w machine.Writer) error { return w.PutMachine(rec) })
	if err != nil {
		s.naming.Unlock()
		s.health.failed(err)
		return machine.Machine{}, err
	}
	e := newEntry(s, rec)
	alone := !slices.ContainsFunc(s.entries(), (*entry).awake)
	s.adopt(e, rec.Name)
	s.naming.Unlock()
	o := e.lock()
	defer o.unlock()
	o.publish()
	if alone {
		o.rousing = true
		s.spawn(e.warm)
	}
	s.poke() // it may expire soon
	return o.snapshot(), nil
}

// adopt makes a new machine known.
func (s *Service) adopt(e *entry, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[e.id] = e
	s.names[name] = e.id
}

// knows says whether there is a machine of that ID.
func (s *Service) knows(id machine.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machines[id] != nil
}

// isAt says whether a machine's checkpoints are where those of that engine are.
func (s *Service) isAt(id machine.ID, engine string) bool {
	s.mu.Lock()
	e := s.machines[id]
	s.mu.Unlock()
	return e != nil && s.saved(e.engine()) == s.saved(engine)
}

// forget makes a purged machine unknown.
func (s *Service) forget(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.machines, e.id)
	maps.DeleteFunc(s.names, func(_ string, id machine.ID) bool { return id == e.id })
}

// autoEngine stands for the engine that a machine gets where none is named: a fork its parent's,
// others the default.
const autoEngine = "auto"

// newRecord checks the options and fills in the defaults.
func (s *Service) newRecord(opts machine.CreateOptions) (machine.MachineRecord, error) {
	if opts.Engine == autoEngine {
		opts.Engine = ""
	}
	now := time.Now().UTC()
	rec := machine.MachineRecord{Machine: machine.Machine{
		ID: machine.NewID(), Name: opts.Name, Title: naming.Unturned(opts.Title), Tags: maps.Clone(opts.Tags),
		Engine: cmp.Or(opts.Engine, s.standardEngine()), Image: cmp.Or(opts.Image, "base"), MemoryMB: cmp.Or(opts.MemoryMB, machine.DefaultMemoryMB),
		CreatedAt: now, LastActiveAt: now, ExpiresAt: opts.ExpiresAt, Network: opts.Network,
		Client: opts.Client.Clean(), Owner: opts.Owner,
	}}
	if rec.Name == "" {
		rec.Name = s.unusedName()
	} else if s.taken(rec.Name, "") {
		return rec, machine.NameTaken(rec.Name)
	}
	engine := s.engineOf
	if opts.Engine != "" {
		engine = s.namedEngine
	}
	if _, err := engine(rec.Engine); err != nil {
		return rec, err
	}
	return rec, firstError(
		checkName(rec.Name),
		checkText("A title", rec.Title, maxTitle),
		checkTags(rec.Tags),
		s.checkMemory(rec.MemoryMB),
		checkImage(rec.Image),
		checkExpiry(rec.ExpiresAt, now),
		rec.Network.Check(),
	)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// taken says whether a name is, or was, that of another machine than but.
func (s *Service) taken(name string, but machine.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, ok := s.names[name]
	return ok && owner != but
}

// unusedName makes up a name that no machine has or had.
func (s *Service) unusedName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for try := 0; ; try++ {
		name := naming.Friendly()
		if try > 100 { // a million machines: then without charm
			name += "-" + strconv.FormatUint(naming.RandomBits()%1e9, 10)
		}
		if _, taken := s.names[name]; !taken {
			return name
		}
	}
}

// List returns a page of machines, newest first. The cursor is the place of the last one, so pages
// stay right when machines come and go in between.
func (s *Service) List(_ context.Context, f machine.Filter) (machine.Page[machine.Machine], error) {
	var all []machine.Machine
	for _, e := range s.entries() {
		all = append(all, e.Machine())
	}
	return machine.Choose(all, f)
}

// Update changes what is not nil, all or nothing.
func (e *entry) Update(ctx context.Context, c machine.Change) (machine.Machine, error) {
	if c.MemoryMB != nil {
		if err := e.tryLimit(ctx, c); err != nil {
			return machine.Machine{}, err
		}
	}
	e.s.naming.Lock()
	defer e.s.naming.Unlock()
	o := e.lock()
	defer o.unlock()
	if o.sess != nil {
		defer o.sess.fitLimit(o)
	}
	next, err := o.with(c)
	if err == nil {
		err = o.save(ctx, func(m *machine.MachineRecord) { *m = next })
		e.s.health.failed(err)
	}
	if err != nil {
		return machine.Machine{}, err
	}
	if c.MemoryMB != nil {
		o.tooLarge = nil // under another limit it is another try
	}
	if c.Network != nil {
		e.traffic.Forget()
	}
	e.s.mu.Lock()
	e.s.names[next.Name] = next.ID
	e.s.mu.Unlock()
	o.publish()
	e.s.poke()
	return o.snapshot(), nil
}

// with is the machine's record with a change made. naming is held.
func (o owned) with(c machine.Change) (machine.MachineRecord, error) {
	next := o.rec
	if o.life.Gone {
		return next, machine.NoMachine(o.rec.Name)
	}
	err := o.s.apply(c, &next)
	return next, err
}

// tryLimit gives the sandbox the memory limit of a change that can be made as a whole. It may take
// the sandbox long, so naming is not held.
func (e *entry) tryLimit(ctx context.Context, c machine.Change) error {
	e.s.naming.Lock()
	o := e.lock()
	_, err := o.with(c)
	x := o.sess
	o.unlock()
	e.s.naming.Unlock()
	if err != nil || x == nil {
		return err
	}
	return e.setLimit(ctx, x, *c.MemoryMB)
}

// setLimit changes the memory limit of a machine in memory.
func (e *entry) setLimit(ctx context.Context, x *session, mb int) error {
	err := x.box.SetMemoryLimit(ctx, mb)
	select {
	case <-x.box.Ended(): // the next start brings the new limit
		return nil
	default:
	}
	if err != nil {
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "The memory limit could not be changed: " + err.Error(), Cause: err}
	}
	o := e.lock()
	x.memoryMB = mb
	o.unlock()
	return nil
}

// fitLimit brings the sandbox's limit up to the record, which may have been changed meanwhile.
func (x *session) fitLimit(o owned) {
	mb := o.rec.MemoryMB
	if x.memoryMB == mb {
		return
	}
	o.s.spawn(func() {
		if err := x.e.setLimit(x.e.s.ctx, x, mb); err != nil && x.e.s.ctx.Err() == nil {
			x.e.log().Warn("the memory limit is applied at the next start", "err", err)
		}
	})
}

// apply checks a change and makes it on a record. naming is held.
func (s *Service) apply(c machine.Change, rec *machine.MachineRecord) error {
	if c.Name != nil && *c.Name != rec.Name {
		if err := checkName(*c.Name); err != nil {
			return err
		}
		if s.taken(*c.Name, rec.ID) {
			return machine.NameTaken(*c.Name)
		}
		aliases := slices.DeleteFunc(slices.Clone(rec.Aliases), func(a string) bool { return a == *c.Name })
		rec.Aliases = append(aliases, rec.Name)
		rec.Name = *c.Name
	}
	if c.Title != nil {
		rec.Title = naming.Unturned(*c.Title)
	}
	rec.Tags = maps.Clone(rec.Tags)
	for k, v := range c.Tags {
		if v == nil {
			delete(rec.Tags, k)
			continue
		}
		if rec.Tags == nil {
			rec.Tags = map[string]string{}
		}
		rec.Tags[k] = *v
	}
	if c.MemoryMB != nil {
		rec.MemoryMB = *c.MemoryMB
	}
	if c.Network != nil {
		rec.Network = c.Network.On(rec.Network)
	}
	if c.ExpiresAt != nil {
		rec.ExpiresAt = *c.ExpiresAt
		if err := checkExpiry(rec.ExpiresAt, time.Now()); err != nil {
			return err
		}
	}
	return firstError(checkText("A title", rec.Title, maxTitle), checkTags(rec.Tags), s.checkMemory(rec.MemoryMB), rec.Network.Check())
}
