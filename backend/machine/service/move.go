package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	target, err := e.mayMove(ctx, to)
	if err != nil {
		return machine.Machine{}, err
	}
	return under(ctx, e, func(ctx context.Context) (machine.Machine, error) { return e.move(ctx, target) })
}

// move is Move with op held.
func (e *entry) move(ctx context.Context, target machine.Engine) (machine.Machine, error) {
	was := e.memory()
	if err := e.takeUp(ctx); err != nil {
		return machine.Machine{}, err
	}
	o := e.lock()
	err := o.usable()
	o.unlock()
	if err != nil {
		return machine.Machine{}, err
	}
	err = saveError(e.stop(ctx, nil))
	if err == nil {
		err = e.moveSaved(ctx, target)
	}
	defer was.queue.Admit() // it may have waited for room at the old place
	o = e.lock()
	defer o.unlock()
	o.on(life.Asked{}) // it goes on with what was paused, wherever it is now
	o.publish()
	if err != nil {
		return machine.Machine{}, stays(o.rec.Name, err)
	}
	return o.snapshot(), nil
}

// stays says of a move that did not come to its end that the machine is where it was.
func stays(name string, err error) error {
	told := machine.Error{Kind: machine.ErrUnavailable, Message: "The copy broke off."}
	var own *machine.Error
	if errors.As(err, &own) {
		told = *own
	}
	told.Message, told.Cause = fmt.Sprintf("%s stays where it is, and nothing is lost. %s", name, told.Message), err
	return &told
}

// mayMove says whether the machine can move there. It waits for the place, and does without op.
func (e *entry) mayMove(ctx context.Context, to string) (machine.Engine, error) {
	target, err := e.s.namedEngine(to)
	if err != nil {
		return nil, err
	}
	o := e.lock()
	name, shared, image, base := o.rec.Name, o.rec.Shared != nil, o.rec.Image, o.rec.Base
	err = o.usable()
	o.unlock()
	if err != nil {
		return nil, err
	}
	if to == e.engine() {
		return nil, machine.Conflict("%s is there already.", name)
	}
	if shared && target.MayShow(ctx, e.id, image, base) != nil {
		return nil, machine.Conflict("%s sees a folder of this computer, which it cannot see there. Stop sharing the folder first.", name)
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
	case s.engine(to) != target:
		return machine.Conflict("The place was removed meanwhile.")
	case from == to:
		return machine.Conflict("Another move took it there meanwhile.")
	case ending:
		return machine.Conflict("%s is just ending. Try again.", rec.Name)
	case s.saved(from) == s.saved(to):
		return e.moved(ctx, to, nil)
	}
	if err := e.makeWay(ctx, target); err != nil {
		return err
	}
	defer s.spawn(s.takeOutGarbage)
	defer s.making.Delete(e.id)
	rec.Engine = to
	copies := map[string]machine.CheckpointInfo{}
	going := all.Going()
	slices.SortStableFunc(going, func(a, b machine.CheckpointRecord) int { // what it needs first: it fails soonest
		return cmp.Compare(rank(rec, a), rank(rec, b))
	})
	for _, c := range going {
		copies[c.ID], err = s.copyState(ctx, e.id, from, c.ID, &rec)
		if errors.Is(err, machine.ErrCheckpointUnusable) && c.ID != rec.Base {
			return &machine.Error{Kind: machine.ErrCheckpointUnusable, Message: naming.Join(fmt.Sprintf("Its checkpoint after step %d cannot go along: delete that checkpoint, or the branch that ends there, and try again.", c.LastSeq+1), err.Error()), Cause: err}
		}
		if err != nil {
			return err
		}
	}
	return e.moved(ctx, to, copies)
}

// rank has the checkpoint first that the machine comes back from.
func rank(m machine.MachineRecord, c machine.CheckpointRecord) int {
	if c.ID == m.Base {
		return 0
	}
	return 1
}

// makeWay deletes what the machine left at the place when it was there before, or it would be
// deleted while the machine comes back. Then it writes down that what arrives is garbage, should
// the move not come to its end.
func (e *entry) makeWay(ctx context.Context, target machine.Engine) error {
	s, to := e.s, target.Name()
	if s.isAway(to) {
		done, err := s.alone(ctx, to)
		if err != nil {
			return err
		}
		defer done()
	} else {
		s.garbage.Lock()
		defer s.garbage.Unlock()
	}
	if s.engine(to) != target {
		return machine.Conflict("The place was removed meanwhile.")
	}
	trash := machine.Garbage{Engine: to, Machine: e.id}
	garbage, err := s.store.Garbage(ctx)
	if err != nil {
		return err
	}
	for _, g := range garbage {
		if g.Machine == e.id && g.Checkpoint == "" && s.saved(g.Engine) == s.saved(to) {
			if err := s.takeOut(g); err != nil {
				return err
			}
		}
	}
	s.making.Store(e.id, true)
	if err := s.store.WriteSync(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) }); err != nil {
		s.making.Delete(e.id)
		return err
	}
	return nil
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
		if next.Base != "" && copies[next.Base].ID == "" {
			return machine.Conflict("The saved state of %s is not on record.", next.Name)
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
	if copies != nil {
		o.shrinkLater()
	}
	e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	return nil
}
