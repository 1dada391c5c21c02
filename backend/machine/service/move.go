package service

import (
	"context"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Move has the machine live at another place, with its name and history: its present state, the
// checkpoints that the person keeps, and those that branches end in. Automatic checkpoints of the
// past stay behind and are deleted. What runs is paused meanwhile.
func (e *entry) Move(ctx context.Context, to string) (machine.Machine, error) {
	if e.s.isClosing() {
		return machine.Machine{}, machine.Closing()
	}
	return under(ctx, e, func(ctx context.Context) (machine.Machine, error) { return e.move(ctx, to) })
}

// move is Move with op held.
func (e *entry) move(ctx context.Context, to string) (machine.Machine, error) {
	if err := e.takeUp(ctx); err != nil {
		return machine.Machine{}, err
	}
	target, err := e.mayMove(ctx, to)
	if err != nil {
		return machine.Machine{}, err
	}
	err = saveError(e.stop(ctx, nil))
	if err == nil {
		err = e.moveSaved(ctx, target)
	}
	o := e.lock()
	defer o.unlock()
	o.on(life.Asked{}) // it goes on with what was paused, wherever it is now
	o.publish()
	if err != nil {
		return machine.Machine{}, err
	}
	return o.snapshot(), nil
}

// mayMove says whether the machine can move there.
func (e *entry) mayMove(ctx context.Context, to string) (machine.Engine, error) {
	target, err := e.s.namedEngine(to)
	if err != nil {
		return nil, err
	}
	o := e.lock()
	name := o.rec.Name
	err = o.usable()
	o.unlock()
	if err != nil {
		return nil, err
	}
	if to == e.engine() {
		return nil, machine.Conflict("%s is there already.", name)
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	if problems := target.Check(ctx); len(problems) > 0 {
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: naming.Join(name+" cannot move there. "+problems[0].What, problems[0].Do)}
	}
	return target, nil
}

// moveSaved moves a machine that is not in memory. Until it is on record at the new place, it is at
// the old one, and what has been copied counts as garbage.
func (e *entry) moveSaved(ctx context.Context, target machine.Engine) error {
	s, from, to := e.s, e.engine(), target.Name()
	o := e.lock()
	rec, ending := o.rec, o.sess != nil
	all, err := o.points(ctx)
	o.unlock()
	switch {
	case err != nil:
		return err
	case ending:
		return machine.Conflict("%s is just ending. Try again.", rec.Name)
	case s.saved(from) == s.saved(to):
		if err := e.fits(ctx, rec, target); err != nil {
			return err
		}
		return e.moved(ctx, to, nil)
	}
	if err := e.makeWay(ctx, to); err != nil {
		return err
	}
	defer s.spawn(s.takeOutGarbage)
	defer s.making.Delete(e.id)
	rec.Engine = to
	copies := map[string]machine.CheckpointInfo{}
	for _, c := range all.Going() {
		if copies[c.ID], err = s.copyState(ctx, e.id, from, c.ID, &rec); err != nil {
			return err
		}
	}
	return e.moved(ctx, to, copies)
}

// makeWay deletes what the machine left at the place when it was there before, or it would be
// deleted while the machine comes back. Then it writes down that what arrives is garbage, should
// the move not come to its end.
func (e *entry) makeWay(ctx context.Context, to string) error {
	s := e.s
	if s.isAway(to) {
		if _, busy := s.deletingAway.LoadOrStore(to, true); busy {
			return machine.Conflict("What machines left at %s is just being deleted. Try again in a minute.", to)
		}
		defer s.deletingAway.Delete(to)
	} else {
		s.garbage.Lock()
		defer s.garbage.Unlock()
	}
	trash := machine.Garbage{Engine: to, Machine: e.id}
	garbage, err := s.store.Garbage(ctx)
	if err == nil && slices.Contains(garbage, trash) {
		err = s.takeOut(trash)
	}
	if err != nil {
		return err
	}
	s.making.Store(e.id, true)
	if err := s.store.WriteSync(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) }); err != nil {
		s.making.Delete(e.id)
		return err
	}
	return nil
}

// fits says whether another engine with the same store can bring the machine into memory.
func (e *entry) fits(ctx context.Context, rec machine.MachineRecord, target machine.Engine) error {
	if rec.Base == "" {
		return nil
	}
	open, err := e.s.saved(rec.Engine).Export(ctx, e.id, rec.Base)
	if err != nil {
		return err
	}
	defer open.Close()
	return target.CheckCompatible(ctx, rec.Image, open.State.Needs)
}

// moved writes the move down. copies are the checkpoints at the new place, by what they are copies
// of; nil where they stay as they are.
func (e *entry) moved(ctx context.Context, to string, copies map[string]machine.CheckpointInfo) error {
	o := e.lock()
	defer o.unlock()
	from := e.engine()
	all, err := o.points(ctx)
	if err != nil {
		return err
	}
	next := o.rec
	next.Engine = to
	var records []machine.CheckpointRecord
	if copies != nil {
		going := all.Going()
		for _, c := range going {
			if _, ok := copies[c.ID]; !ok {
				return machine.Conflict("The checkpoints of %s have changed meanwhile. Try again.", next.Name)
			}
		}
		records, next = all.Moved(next, copies)
	}
	err = o.saveSync(ctx, func(m *machine.MachineRecord) { *m = next }, func(w machine.Writer) error {
		if copies == nil {
			return nil
		}
		for _, c := range all.All {
			if err := w.RemoveCheckpoint(c.ID); err != nil {
				return err
			}
		}
		for _, c := range records {
			if err := w.PutCheckpoint(c); err != nil {
				return err
			}
		}
		if err := w.AddGarbage(machine.Garbage{Engine: from, Machine: e.id}); err != nil {
			return err
		}
		return w.RemoveGarbage(machine.Garbage{Engine: to, Machine: e.id})
	})
	if err != nil {
		return err
	}
	e.at.Store(&to)
	o.brief, o.spacedAt, o.disk = "", time.Time{}, nil
	e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	return nil
}
