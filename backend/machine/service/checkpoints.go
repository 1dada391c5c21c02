package service

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/machine/output"
)

// record writes down a checkpoint that an engine made of the machine's present state, makes it the
// base, and drops automatic ones that it takes the place of.
//
// It is written so that a power cut cannot undo it, because what it replaces is deleted next.
func (o owned) record(ctx context.Context, info machine.CheckpointInfo, kind machine.CheckpointKind, label string, mark *machine.Mark, change func(*machine.MachineRecord), more ...func(machine.Writer) error) (machine.CheckpointRecord, error) {
	rec, err := o.describe(ctx, info, kind, label, mark)
	if err != nil {
		return rec, err
	}
	err = o.rebase(ctx, rec, func(m *machine.MachineRecord) {
		m.Touched = false
		change(m)
	}, append(more, func(w machine.Writer) error { return w.PutCheckpoint(rec) })...)
	return rec, err
}

// describe makes the record of a checkpoint.
func (o owned) describe(ctx context.Context, info machine.CheckpointInfo, kind machine.CheckpointKind, label string, mark *machine.Mark) (machine.CheckpointRecord, error) {
	// What the sandbox says of numbers that were never given out is forged.
	info.LastSeq = min(info.LastSeq, o.rec.NextSeq-1)
	if r := info.RunningSeq; r != nil && (*r < 0 || *r > info.LastSeq) {
		info.RunningSeq = nil
	}
	if mark != nil && mark.Seq > info.LastSeq {
		mark = nil // given to the sandbox only afterwards
	}
	lost, err := o.s.store.RolledBack(ctx, o.id, info.LastSeq)
	if err != nil {
		return machine.CheckpointRecord{}, err
	}
	rec := machine.CheckpointRecord{Checkpoint: machine.Checkpoint{
		ID: info.ID, Machine: o.id, Kind: kind, Label: label, CreatedAt: info.CreatedAt.UTC(), LastSeq: info.LastSeq,
		RunningSeq: info.RunningSeq, Size: info.Size, Image: info.Image, Runtime: info.Runtime, Pause: info.Pause, Parent: o.rec.Base,
	}, Mark: mark, Lost: lost, Whole: info.Whole}
	if info.CreatedAt.IsZero() {
		rec.CreatedAt = time.Now().UTC()
	}
	return rec, nil
}

// rebase makes a checkpoint what the machine returns to.
func (o owned) rebase(ctx context.Context, c machine.CheckpointRecord, change func(*machine.MachineRecord), more ...func(machine.Writer) error) error {
	next := o.rec
	change(&next)
	next.Base = c.ID
	if c.RunningSeq == nil {
		next.Fallback = c.ID
	}
	all, err := o.points(ctx)
	if err != nil {
		return err
	}
	all.Machine = next
	old := all.Replaced(c, o.brief, o.s.set.Load().KeepAll < 0 || o.diskLow())
	more = append(more, func(w machine.Writer) error { return o.discardCheckpoints(w, old) })
	if err := o.saveSync(ctx, func(m *machine.MachineRecord) { *m = next }, more...); err != nil {
		return err
	}
	o.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	if len(old) > 0 {
		o.s.spawn(o.s.takeOutGarbage)
	}
	o.shrinkLater()
	return nil
}

func (o owned) snapshotPointer() *machine.Machine {
	m := o.snapshot()
	return &m
}

// discardCheckpoints forgets checkpoints and puts their bytes on the list of what is to be deleted.
func (e *entry) discardCheckpoints(w machine.Writer, old []machine.CheckpointRecord) error {
	for _, o := range old {
		if err := w.AddGarbage(machine.Garbage{Engine: e.engine(), Machine: e.id, Checkpoint: o.ID}); err != nil {
			return err
		}
		if err := w.RemoveCheckpoint(o.ID); err != nil {
			return err
		}
	}
	return nil
}

// takeOutGarbage deletes what is on the list. What cannot be deleted now stays on it. Nobody waits
// for what is at places elsewhere.
func (s *Service) takeOutGarbage() {
	s.garbage.Lock()
	defer s.garbage.Unlock()
	list, err := s.store.Garbage(s.ctx)
	if err != nil {
		s.log.Warn("the list of what is to be deleted cannot be read", "err", err)
		return
	}
	away := map[string][]machine.Garbage{}
	for _, g := range list {
		if s.isAway(g.Engine) {
			away[g.Engine] = append(away[g.Engine], g)
		} else {
			_ = s.takeOutTold(g)
		}
	}
	for engine, list := range away {
		if !s.letRest(engine, list) {
			s.spawn(func() { s.takeOutAway(engine, list) })
		}
	}
	if len(list) > 0 {
		s.uncollected.Store(true)
		s.spawn(s.collect)
	}
}

// letRest says whether a place rests and may go on. It starts to delete whole machines, whose room
// somebody wants. Checkpoints wait until it runs.
func (s *Service) letRest(engine string, list []machine.Garbage) bool {
	place, _ := s.away(engine)
	return rests(place) && !slices.ContainsFunc(list, func(g machine.Garbage) bool { return g.Checkpoint == "" })
}

// takeOutTold is takeOut, and says what could not be deleted.
func (s *Service) takeOutTold(g machine.Garbage) error {
	err := s.takeOut(g)
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("something could not be deleted", "machine", g.Machine, "checkpoint", g.Checkpoint, "err", err)
	}
	return err
}

// alone waits until nothing is being deleted at a place elsewhere, and has it stay so until the
// caller is done.
func (s *Service) alone(ctx context.Context, place string) (done func(), err error) {
	for {
		if _, busy := s.deletingAway.LoadOrStore(place, true); !busy {
			return func() { s.deletingAway.Delete(place) }, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeOutAway deletes what is at a place elsewhere, until it does not answer. One at a time does
// so.
func (s *Service) takeOutAway(engine string, list []machine.Garbage) {
	if _, busy := s.deletingAway.LoadOrStore(engine, true); busy {
		return
	}
	defer s.deletingAway.Delete(engine)
	for _, g := range list {
		if s.takeOutTold(g) != nil {
			return
		}
	}
}

func (s *Service) takeOut(g machine.Garbage) error {
	if _, making := s.making.Load(g.Machine); making || g.Checkpoint == "" && s.isAt(g.Machine, g.Engine) {
		return nil // the list was read before a fork, or a move, was finished
	}
	if g.Checkpoint == "" && !s.knows(g.Machine) { // the output of one that moved stays
		if err := os.RemoveAll(output.Dir(s.kept.Dir, g.Machine)); err != nil {
			return err
		}
	}
	if err := s.removeSaved(g); err != nil {
		return err
	}
	return s.writeSyncDeleting(s.ctx, func(w machine.Writer) error { return w.RemoveGarbage(g) })
}

// removeSaved deletes what an engine has.
func (s *Service) removeSaved(g machine.Garbage) error {
	engine, err := s.engineOf(g.Engine)
	switch {
	case err != nil:
	case g.Checkpoint == "":
		err = engine.Purge(s.ctx, g.Machine)
	default:
		err = s.saved(g.Engine).Delete(s.ctx, g.Machine, g.Checkpoint)
	}
	return err
}

// Checkpoint saves the present state under a label; it is kept until it is deleted.
func (e *entry) Checkpoint(ctx context.Context, label string) (machine.Checkpoint, error) {
	if err := checkText("A checkpoint's label", label, maxLabel); err != nil {
		return machine.Checkpoint{}, err
	}
	if e.s.isClosing() {
		return machine.Checkpoint{}, machine.Closing()
	}
	if err := e.s.roomForMore(); err != nil {
		return machine.Checkpoint{}, err
	}
	rec, err := under(ctx, e, func(ctx context.Context) (machine.CheckpointRecord, error) { return e.keep(ctx, label) })
	return rec.Checkpoint, err
}

// keep makes a checkpoint of the present state that stays under its label. op is held.
func (e *entry) keep(ctx context.Context, label string) (machine.CheckpointRecord, error) {
	if err := e.takeUp(ctx); err != nil {
		return machine.CheckpointRecord{}, err
	}
	if err := e.mayKeep(ctx); err != nil {
		return machine.CheckpointRecord{}, err
	}
	x, kept, err := e.keepSwapped(ctx, label)
	if err != nil || kept != nil {
		return *cmp.Or(kept, &machine.CheckpointRecord{}), err
	}
	if x == nil {
		if err := e.startNow(ctx); err != nil {
			return machine.CheckpointRecord{}, err
		}
		o := e.lock()
		x = o.sess
		o.unlock()
	}
	return e.checkpoint(ctx, x, machine.CheckpointManual, label, true)
}

// mayKeep says whether one more checkpoint may be kept by hand.
func (e *entry) mayKeep(ctx context.Context) error {
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return err
	}
	kept := 0
	for _, c := range all {
		if c.Kind == machine.CheckpointManual {
			kept++
		}
	}
	if kept < maxKept {
		return nil
	}
	return machine.Conflict("%s has %d checkpoints, and more are not kept. Delete those that are not needed.", e.Name(), kept)
}

// keepSwapped keeps the automatic checkpoint that a swapped machine's state lies in, from now on.
// Where there is none, it returns the stay in memory, if there is one.
func (e *entry) keepSwapped(ctx context.Context, label string) (*session, *machine.CheckpointRecord, error) {
	o := e.lock()
	defer o.unlock()
	if err := o.usable(); err != nil || o.sess != nil || o.rec.Base == "" {
		return o.sess, nil, err
	}
	base, err := e.s.store.Checkpoint(ctx, o.rec.Base)
	if err != nil || base.Kind != machine.CheckpointAuto {
		return nil, nil, err
	}
	base.Kind, base.Label = machine.CheckpointManual, label
	if err := e.s.store.WriteSync(ctx, func(w machine.Writer) error { return w.PutCheckpoint(base) }); err != nil {
		return nil, nil, err
	}
	e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	return nil, &base, nil
}

// Checkpoints returns a machine's checkpoints, newest first.
func (e *entry) Checkpoints(ctx context.Context) ([]machine.Checkpoint, error) {
	records, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return nil, err
	}
	o := e.lock()
	base := o.rec.Base
	o.unlock()
	all := make([]machine.Checkpoint, len(records))
	for i, r := range records {
		all[i] = r.Checkpoint
		all[i].Present = r.ID == base
	}
	return known(e, all, nil)
}

// KeepCheckpoint has a checkpoint kept under a label until it is deleted, as if it had been asked
// for. One that is kept already gets the label.
func (e *entry) KeepCheckpoint(ctx context.Context, id, label string) (machine.Checkpoint, error) {
	if err := checkText("A checkpoint's label", label, maxLabel); err != nil {
		return machine.Checkpoint{}, err
	}
	rec, err := under(ctx, e, func(ctx context.Context) (machine.CheckpointRecord, error) {
		o := e.lock()
		defer o.unlock()
		c, err := o.checkpointOf(ctx, id)
		if err != nil {
			return c, err
		}
		if c.Kind != machine.CheckpointManual {
			if err := e.mayKeep(ctx); err != nil {
				return c, err
			}
		}
		c.Kind, c.Label = machine.CheckpointManual, label
		if err := e.s.store.WriteSync(ctx, func(w machine.Writer) error { return w.PutCheckpoint(c) }); err != nil {
			return c, err
		}
		e.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
		return c, nil
	})
	return rec.Checkpoint, err
}

// DeleteCheckpoint deletes one. The one that a machine's present state lies in is only no longer
// kept: the next replaces it.
func (e *entry) DeleteCheckpoint(ctx context.Context, id string) error {
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	o := e.lock()
	defer o.unlock()
	c, err := o.checkpointOf(ctx, id)
	if err != nil {
		return err
	}
	needed := o.returns(id)
	if needed && c.Passing() {
		return machine.Conflict("This checkpoint holds the present state of %s, so it cannot be deleted. Delete the machine to remove everything.", o.rec.Name)
	}
	if needed {
		c.Kind, c.Label = machine.CheckpointAuto, ""
		c.ClearBranch()
		return o.changeCheckpoints(ctx, []machine.CheckpointRecord{c}, nil)
	}
	return o.changeCheckpoints(ctx, nil, []machine.CheckpointRecord{c})
}

// changeCheckpoints writes changed checkpoints down and deletes others, on a full disk too.
func (o owned) changeCheckpoints(ctx context.Context, changed, old []machine.CheckpointRecord) error {
	err := o.s.deleting(func() error {
		return o.saveSync(ctx, func(m *machine.MachineRecord) {
			if slices.ContainsFunc(old, func(o machine.CheckpointRecord) bool { return o.ID == m.Undo }) {
				m.Undo = ""
			}
		}, func(w machine.Writer) error {
			for _, c := range changed {
				if err := w.PutCheckpoint(c); err != nil {
					return err
				}
			}
			return o.discardCheckpoints(w, old)
		})
	})
	if err != nil {
		return err
	}
	o.publish()
	o.s.hub.Publish(machine.Event{Type: machine.EventCheckpoint, Machine: o.snapshotPointer()})
	if len(old) > 0 {
		o.s.spawn(o.s.takeOutGarbage)
	}
	return nil
}

// checkpointOf reads one of the machine's own checkpoints.
func (o owned) checkpointOf(ctx context.Context, id string) (machine.CheckpointRecord, error) {
	c, err := o.s.store.Checkpoint(ctx, id)
	if machine.IsNotFound(err) || err == nil && c.Machine != o.id {
		return c, machine.NoCheckpoint(o.rec.Name, naming.Clip(id, 80))
	}
	return c, err
}

// checkpointOrTemplate reads a checkpoint of the machine's record; "" is the template.
func (e *entry) checkpointOrTemplate(ctx context.Context, id string) (machine.CheckpointRecord, error) {
	if id == "" {
		return machine.CheckpointRecord{Checkpoint: machine.Checkpoint{LastSeq: -1}}, nil
	}
	return e.s.store.Checkpoint(ctx, id)
}
