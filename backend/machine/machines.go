package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Create makes a machine. The only one begins to come into memory, so that it is ready when it is used; others stay on the disk until then.
func (s *Service) Create(ctx context.Context, opts CreateOptions) (Machine, error) {
	if s.isClosing() {
		return Machine{}, errClosing()
	}
	if err := s.roomForMore(); err != nil {
		return Machine{}, err
	}
	rec, err := s.newRecord(opts)
	if err != nil {
		return Machine{}, err
	}
	s.naming.Lock()
	if opts.Name == "" {
		rec.Name = s.unusedName()
	}
	err = s.store.Write(ctx, func(w Writer) error { return w.PutMachine(rec) })
	if err != nil {
		s.naming.Unlock()
		s.health.failed(err)
		return Machine{}, err
	}
	e := newEntry(s, rec)
	alone := !slices.ContainsFunc(s.entries(), (*entry).awake)
	s.adopt(e)
	s.naming.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publish()
	if alone {
		e.rousing = true
		s.spawn(e.warm)
	}
	s.poke() // it may expire soon
	return e.snapshot(), nil
}

// adopt makes a new machine known.
func (s *Service) adopt(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.machines[e.id] = e
	s.names[e.rec.Name] = e.id
}

// knows says whether there is a machine of that ID.
func (s *Service) knows(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machines[id] != nil
}

// forget makes a purged machine unknown.
func (s *Service) forget(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.machines, e.id)
	maps.DeleteFunc(s.names, func(_ string, id ID) bool { return id == e.id })
}

// autoEngine stands for the engine that a machine gets where none is named: a fork its parent's, others the default.
const autoEngine = "auto"

// newRecord checks the options and fills in the defaults.
func (s *Service) newRecord(opts CreateOptions) (MachineRecord, error) {
	if opts.Engine == autoEngine {
		opts.Engine = ""
	}
	now := time.Now().UTC()
	rec := MachineRecord{Machine: Machine{
		ID: newID(), Name: opts.Name, Title: unturned(opts.Title), Tags: maps.Clone(opts.Tags),
		Engine: cmp.Or(opts.Engine, s.standardEngine()), Image: cmp.Or(opts.Image, "base"), MemoryMB: cmp.Or(opts.MemoryMB, DefaultMemoryMB),
		CreatedAt: now, LastActiveAt: now, ExpiresAt: opts.ExpiresAt, Network: opts.Network,
		Client: opts.Client.clean(),
	}}
	if rec.Name == "" {
		rec.Name = s.unusedName()
	} else if s.taken(rec.Name, "") {
		return rec, nameTaken(rec.Name)
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
		rec.Network.check(),
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
func (s *Service) taken(name string, but ID) bool {
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
		name := friendlyName()
		if try > 100 { // a million machines: then without charm
			name += "-" + strconv.FormatUint(randomBits()%1e9, 10)
		}
		if _, taken := s.names[name]; !taken {
			return name
		}
	}
}

const (
	defaultListLimit = 100
	maxListLimit     = 1000
)

// List returns a page of machines, newest first. The cursor is the place of the last one, so pages stay right when machines
// come and go in between.
func (s *Service) List(_ context.Context, f Filter) (Page[Machine], error) {
	var all []Machine
	for _, e := range s.entries() {
		all = append(all, e.Machine())
	}
	return Choose(all, f)
}

// Choose returns the page of these machines that a filter asks for, newest first. all is changed.
func Choose(all []Machine, f Filter) (Page[Machine], error) {
	all = slices.DeleteFunc(all, func(m Machine) bool { return !f.matches(m) })
	slices.SortFunc(all, func(a, b Machine) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	if f.Cursor != "" {
		at, id, err := parseCursor(f.Cursor)
		if err != nil {
			return Page[Machine]{}, err
		}
		all = slices.DeleteFunc(all, func(m Machine) bool {
			n := m.CreatedAt.UnixNano()
			return n > at || n == at && m.ID <= id
		})
	}
	limit := cmp.Or(f.Limit, defaultListLimit)
	if limit < 0 {
		limit = len(all)
	} else {
		limit = min(limit, maxListLimit)
	}
	page := Page[Machine]{Items: all}
	if limit < len(all) {
		page.Items = all[:limit]
		last := all[limit-1]
		page.Next = fmt.Sprintf("%d.%s", last.CreatedAt.UnixNano(), last.ID)
	}
	return page, nil
}

func parseCursor(cursor string) (int64, ID, error) {
	at, id, ok := strings.Cut(cursor, ".")
	n, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return 0, "", invalid("The cursor of the list is not one that was given out. List from the beginning.")
	}
	return n, ID(id), nil
}

func (f *Filter) matches(m Machine) bool {
	if f.Deleted != (m.State == Deleted) {
		return false
	}
	if len(f.States) > 0 && !slices.Contains(f.States, m.State) || f.Engine != "" && f.Engine != m.Engine {
		return false
	}
	if f.CreatedAfter != nil && !m.CreatedAt.After(*f.CreatedAfter) || f.CreatedBefore != nil && !m.CreatedAt.Before(*f.CreatedBefore) {
		return false
	}
	for k, v := range f.Tags {
		if has, ok := m.Tags[k]; !ok || has != v {
			return false
		}
	}
	if f.Text == "" {
		return true
	}
	hay := []string{m.Name, m.Title, m.DerivedTitle}
	for k, v := range m.Tags {
		hay = append(hay, k, v)
	}
	for _, word := range strings.Fields(strings.ToLower(f.Text)) {
		if !slices.ContainsFunc(hay, func(h string) bool { return strings.Contains(strings.ToLower(h), word) }) {
			return false
		}
	}
	return true
}

// Update changes what is not nil, all or nothing.
func (e *entry) Update(ctx context.Context, c Change) (Machine, error) {
	if c.MemoryMB != nil {
		if err := e.tryLimit(ctx, c); err != nil {
			return Machine{}, err
		}
	}
	e.s.naming.Lock()
	defer e.s.naming.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sess != nil {
		defer e.sess.fitLimit()
	}
	next, err := e.with(c)
	if err == nil {
		err = e.save(ctx, func(m *MachineRecord) { *m = next })
		e.s.health.failed(err)
	}
	if err != nil {
		return Machine{}, err
	}
	if c.MemoryMB != nil {
		e.tooLarge = nil // under another limit it is another try
	}
	if c.Network != nil {
		e.traffic.forgetAnswers()
	}
	e.s.mu.Lock()
	e.s.names[next.Name] = next.ID
	e.s.mu.Unlock()
	e.publish()
	e.s.poke()
	return e.snapshot(), nil
}

// with is the machine's record with a change made. naming and mu are held.
func (e *entry) with(c Change) (MachineRecord, error) {
	next := e.rec
	if e.gone {
		return next, noMachine(e.rec.Name)
	}
	err := e.s.apply(c, &next)
	return next, err
}

// tryLimit gives the sandbox the memory limit of a change that can be made as a whole. It may take the sandbox long, so neither
// naming nor mu is held.
func (e *entry) tryLimit(ctx context.Context, c Change) error {
	e.s.naming.Lock()
	e.mu.Lock()
	_, err := e.with(c)
	x := e.sess
	e.mu.Unlock()
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
		return &Error{Kind: ErrUnavailable, Message: "The memory limit could not be changed: " + err.Error(), Cause: err}
	}
	e.mu.Lock()
	x.memoryMB = mb
	e.mu.Unlock()
	return nil
}

// fitLimit brings the sandbox's limit up to the record, which may have been changed meanwhile. mu is held.
func (x *session) fitLimit() {
	mb := x.e.rec.MemoryMB
	if x.memoryMB == mb {
		return
	}
	x.e.s.spawn(func() {
		if err := x.e.setLimit(x.e.s.ctx, x, mb); err != nil && x.e.s.ctx.Err() == nil {
			x.e.log().Warn("the memory limit is applied at the next start", "err", err)
		}
	})
}

// apply checks a change and makes it on a record. naming is held.
func (s *Service) apply(c Change, rec *MachineRecord) error {
	if c.Name != nil && *c.Name != rec.Name {
		if err := checkName(*c.Name); err != nil {
			return err
		}
		if s.taken(*c.Name, rec.ID) {
			return nameTaken(*c.Name)
		}
		aliases := slices.DeleteFunc(slices.Clone(rec.Aliases), func(a string) bool { return a == *c.Name })
		rec.Aliases = append(aliases, rec.Name)
		rec.Name = *c.Name
	}
	if c.Title != nil {
		rec.Title = unturned(*c.Title)
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
		rec.Network = c.Network.on(rec.Network)
	}
	if c.ExpiresAt != nil {
		rec.ExpiresAt = *c.ExpiresAt
		if err := checkExpiry(rec.ExpiresAt, time.Now()); err != nil {
			return err
		}
	}
	return firstError(checkText("A title", rec.Title, maxTitle), checkTags(rec.Tags), s.checkMemory(rec.MemoryMB), rec.Network.check())
}
