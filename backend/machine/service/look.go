package service

import (
	"context"
	"errors"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/admission"
	"github.com/forevervm/desktop/backend/machine/compare"
)

const (
	// lookTakes is how long a state may be looked at that is in memory.
	lookTakes = 20 * time.Second
	// leastLook is what a state is expected to take in memory, in bytes, where its size is not
	// known.
	leastLook = 128 << 20
)

// lookCopy is a copy of a state that is brought into memory to be looked at. It is written down as
// garbage from the beginning: no machine, and nothing that stays, whenever we die.
type lookCopy struct {
	e      *entry
	source machine.CheckpointRecord // of the machine
	point  machine.Point
	engine machine.Engine
	spec   machine.StartSpec
}

// withCopies has two states looked at, in copies that last as long as that.
func (e *entry) withCopies(ctx context.Context, a, b string, do func(context.Context, [2]*lookCopy) error) error {
	if e.s.isClosing() || !e.s.enter() {
		return machine.Closing()
	}
	defer e.s.group.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.s.ctx, cancel)()
	if err := e.s.roomForMore(); err != nil {
		return err
	}
	if err := e.s.looks.Enter(ctx, func() bool { return true }); err != nil {
		return err
	}
	defer e.s.looks.Leave()
	copies, err := under(ctx, e, func(ctx context.Context) ([2]*lookCopy, error) { return e.copyToLook(ctx, a, b) })
	if err != nil {
		return err
	}
	defer e.s.spawn(e.s.takeOutGarbage)
	defer copies[0].forget()
	defer copies[1].forget()
	return do(ctx, copies)
}

// copyToLook copies two states; one, twice, where they are the same. op is held.
func (e *entry) copyToLook(ctx context.Context, a, b string) (copies [2]*lookCopy, err error) {
	if err := e.takeUp(ctx); err != nil {
		return copies, err
	}
	points, err := e.pointsToLook(ctx, [2]string{a, b})
	if err != nil {
		return copies, err
	}
	for i, point := range points {
		if i > 0 && point.source.ID == points[0].source.ID {
			copies[1] = copies[0]
			break
		}
		if err := point.make(ctx); err != nil {
			point.forget()
			if i > 0 {
				copies[0].forget()
			}
			e.s.spawn(e.s.takeOutGarbage)
			return copies, err
		}
		copies[i] = point
	}
	return copies, nil
}

// pointsToLook finds the states, and saves the present one where that is meant. op is held.
func (e *entry) pointsToLook(ctx context.Context, asked [2]string) (points [2]*lookCopy, err error) {
	m := e.Machine()
	if m.State == machine.Deleted {
		return points, machine.InBin(m.Name)
	}
	engine, err := e.s.engineOf(e.engine())
	if err != nil {
		return points, err
	}
	defer func() {
		o := e.lock()
		defer o.unlock()
		o.rewindTo = ""
	}()
	for _, present := range []bool{false, true} { // last, as it may replace others
		for i, to := range asked {
			if (to == "") != present {
				continue
			}
			c := &lookCopy{e: e, engine: engine, spec: machine.StartSpec{Name: m.Name, Image: m.Image, MemoryMB: m.MemoryMB}}
			if present {
				c.source, err = e.forkSource(ctx, "")
			} else {
				c.source, err = e.pointToLook(ctx, to)
			}
			if err != nil {
				return points, err
			}
			c.point = machine.Point{Checkpoint: c.source.ID, Present: present, Label: c.source.Label, Branch: c.source.Branch, LastSeq: c.source.LastSeq, CreatedAt: c.source.CreatedAt}
			points[i] = c
		}
	}
	return points, nil
}

// pointToLook finds a checkpoint, which stays until the states are found.
func (e *entry) pointToLook(ctx context.Context, to string) (machine.CheckpointRecord, error) {
	o := e.lock()
	defer o.unlock()
	all, err := o.points(ctx)
	if err != nil {
		return machine.CheckpointRecord{}, err
	}
	c, err := all.Find(to)
	o.rewindTo = c.ID
	return c, err
}

// make makes the copy, as garbage.
func (c *lookCopy) make(ctx context.Context) error {
	s := c.e.s
	c.spec.ID, c.spec.Life = machine.NewID(), string(machine.NewID())
	c.spec.Clone = c.source.ID == "" || c.source.Clone
	s.making.Store(c.spec.ID, true)
	trash := machine.Garbage{Engine: c.e.engine(), Machine: c.spec.ID}
	if err := s.store.Write(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) }); err != nil {
		return err
	}
	if c.source.ID == "" {
		return nil
	}
	info, err := s.saved(c.e.engine()).Copy(ctx, c.e.id, c.source.ID, c.spec.ID)
	if err != nil {
		return saveError(err)
	}
	c.spec.Checkpoint = info.ID
	return nil
}

// forget lets the copy be taken out with the garbage.
func (c *lookCopy) forget() { c.e.s.making.Delete(c.spec.ID) }

// look brings the copy into memory, without a network, has it looked at, and ends it.
func (c *lookCopy) look(ctx context.Context, at func(context.Context, machine.Sandbox, time.Duration) (compare.Seen, error)) (compare.Seen, error) {
	s := c.e.s
	m := c.e.memory()
	m.looking.Store(max(c.source.Whole, leastLook))
	defer m.looking.Store(0)
	s.relieve()
	leave, err := m.enter(ctx, admission.Entrant{
		Need: max(c.source.Whole, leastLook), Wanted: func() bool { return true }, Tell: func(bool) {},
	}, roomBriefly)
	if err != nil {
		return compare.Seen{}, err
	}
	defer leave()
	box, err := c.start(ctx)
	if err != nil {
		return compare.Seen{}, err
	}
	seen, err := at(ctx, box, lookTakes)
	if err != nil {
		return compare.Seen{}, &machine.Error{Kind: machine.ErrUnavailable, Message: "One of the states could not be looked at: " + err.Error(), Cause: err}
	}
	return seen, nil
}

func (c *lookCopy) start(ctx context.Context) (machine.Sandbox, error) {
	s := c.e.s
	starts := s.startsAt(c.e.engine())
	if err := starts.Enter(ctx, func() bool { return true }); err != nil {
		return nil, err
	}
	defer starts.Leave()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := c.engine.Start(ctx, c.spec)
	if err != nil {
		kind := machine.ErrUnavailable
		if errors.Is(err, machine.ErrCheckpointUnusable) {
			kind = machine.ErrCheckpointUnusable
		}
		return nil, &machine.Error{Kind: kind, Message: "One of the states could not be brought into memory: " + err.Error(), Cause: err}
	}
	return box, nil
}
