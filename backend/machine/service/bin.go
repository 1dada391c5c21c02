package service

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Delete moves a machine to the bin, saved, so that it can be restored as it is. What runs and what
// waits ends.
func (e *entry) Delete(ctx context.Context) error {
	if e.s.isClosing() {
		return machine.Closing()
	}
	return e.toBin(ctx)
}

func (e *entry) toBin(ctx context.Context) error {
	_, err := under(ctx, e, func(ctx context.Context) (struct{}, error) { return struct{}{}, e.bin(ctx) })
	return err
}

// bin is Delete with op held.
func (e *entry) bin(ctx context.Context) error {
	o := e.lock()
	if o.life.Gone || o.life.State == machine.Deleted {
		err := o.usable()
		if o.life.State == machine.Deleted {
			err = nil
		}
		o.unlock()
		return err
	}
	// Nothing may start again meanwhile.
	ended, err := o.cancelled(ctx, "its machine was moved to the bin before it ran")
	if err == nil {
		err = e.s.deleting(func() error { return o.s.store.Write(ctx, func(w machine.Writer) error { return putEnded(w, ended) }) })
	}
	if err == nil {
		o.on(life.Emptied{})
		o.announce(ended)
	}
	o.unlock()
	if err != nil {
		return err
	}
	if err := e.leave(ctx); err != nil {
		e.s.health.failed(err)
		return saveError(err)
	}
	o = e.lock()
	defer o.unlock()
	if o.sess != nil {
		return machine.Conflict("%s is just ending. Try again in a moment.", o.rec.Name)
	}
	now := time.Now().UTC()
	ended = nil
	if o.run != nil {
		run := *o.run
		run.End(machine.StatusError, errNameStopped, "MachineStopped: the machine was moved to the bin while this ran.")
		ended = append(ended, run)
	}
	late, err := o.cancelled(ctx, "its machine was moved to the bin before it ran")
	if err != nil {
		return err
	}
	ended = append(ended, late...)
	err = e.s.deleting(func() error {
		return o.saveSync(ctx, func(m *machine.MachineRecord) { m.DeletedAt = &now }, func(w machine.Writer) error { return putEnded(w, ended) })
	})
	if err != nil {
		return err
	}
	o.later.stop()
	o.later = nil
	o.run = nil
	o.on(life.Binned{})
	o.announce(ended)
	e.s.poke()
	return nil
}

// leave takes the machine out of memory: saved, unless it is at rest and its present state is saved
// already. On a full disk what its threads did since the last save has to go. op is held.
func (e *entry) leave(ctx context.Context) error {
	if left, err := e.leaveUnsaved(ctx, owned.saved); left {
		return err
	}
	err := e.stop(ctx, nil)
	if errors.Is(err, machine.ErrDiskFull) {
		if left, unsaved := e.leaveUnsaved(ctx, func(o owned, _ context.Context) bool { return o.sess.version == o.sess.clean }); left {
			return unsaved
		}
	}
	return err
}

// leaveUnsaved takes the machine out of memory as it was saved last, if it is at rest and saved
// says so, and says whether it did. op is held.
func (e *entry) leaveUnsaved(ctx context.Context, saved func(owned, context.Context) bool) (bool, error) {
	o := e.lock()
	x := o.sess
	may := x.alive(o) && o.life.AtRest() && o.rec.Base != "" && !o.rec.Touched && saved(o, ctx)
	if may {
		o.on(life.Leaving{})
	}
	o.unlock()
	if !may {
		return false, nil
	}
	return true, e.discard(ctx, x)
}

// Restore takes a machine out of the bin. One whose time had expired has no expiry afterwards.
func (e *entry) Restore(ctx context.Context) error {
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	o := e.lock()
	defer o.unlock()
	if o.life.Gone {
		return machine.NoMachine(o.rec.Name)
	}
	if o.life.State != machine.Deleted {
		return nil
	}
	err := o.saveSync(ctx, func(m *machine.MachineRecord) {
		m.DeletedAt = nil
		if m.ExpiresAt != nil && !m.ExpiresAt.After(time.Now()) {
			m.ExpiresAt = nil
		}
	})
	if err == nil {
		o.on(life.Restored{})
	}
	return err
}

// Purge removes a machine and everything of it for good.
func (e *entry) Purge(ctx context.Context) error {
	return e.purge(ctx, false)
}

// purge with inBin leaves a machine that was restored meanwhile.
func (e *entry) purge(ctx context.Context, inBin bool) error {
	s := e.s
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	o := e.lock()
	if o.life.Gone || inBin && o.life.State != machine.Deleted {
		o.unlock()
		return nil
	}
	rec := o.rec
	trash := machine.Garbage{Engine: rec.Engine, Machine: rec.ID}
	remove := func(w machine.Writer) error {
		if err := w.RemoveMachine(rec.ID); err != nil {
			return err
		}
		return w.AddGarbage(trash)
	}
	x := o.sess
	err := s.writeSyncDeleting(ctx, remove)
	if errors.Is(err, machine.ErrDiskFull) { // its files are most of what it takes, so they go first
		o.unlock()
		if x != nil {
			if err := x.forsake(ctx); err != nil {
				return err
			}
		}
		if err = errors.Join(os.RemoveAll(output.Dir(s.kept.Dir, rec.ID)), s.removeSaved(trash)); err != nil {
			return err
		}
		o = e.lock()
		err = s.store.WriteSync(ctx, remove)
	}
	if err != nil {
		o.unlock()
		return err
	}
	o.run = nil
	o.on(life.Purged{})
	o.later.stop()
	o.later = nil
	o.tell()
	o.unlock()

	s.forget(e)
	if s.exchange != nil {
		s.exchange.Forget(rec.ID)
	}
	if x != nil {
		x.box.Kill()
		select {
		case <-x.stored:
		case <-s.ctx.Done():
			return machine.Closing()
		}
		o = e.lock()
		if o.sess == x {
			o.clear()
		}
		o.unlock()
	}
	if s.shareWatch != nil {
		s.shareWatch.Forget(rec.ID)
	}
	s.hub.Publish(machine.Event{Type: machine.EventPurged, Machine: &machine.Machine{ID: rec.ID, Name: rec.Name}})
	s.takeOutGarbage()
	s.unscrubbed.Store(true)
	s.scrub()
	return nil
}

// forsake ends the sandbox and waits for that; what it still says is not stored, as there may be no
// room for it.
func (x *session) forsake(ctx context.Context) error {
	o := x.e.lock()
	x.forsaken = true
	o.unlock()
	x.box.Kill()
	select {
	case <-x.stored:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-x.e.s.ctx.Done():
		return machine.Closing()
	}
}

const (
	scrubTries = 20
	scrubAgain = 50 * time.Millisecond
)

// scrub leaves nothing of what was purged in the store's files. While somebody reads them all the
// time, the keeper tries again.
func (s *Service) scrub() {
	if !s.unscrubbed.Swap(false) {
		return
	}
	for try := 1; ; try++ {
		err := s.deleting(func() error { return s.store.Scrub(s.ctx) })
		if err == nil {
			return
		}
		if try == scrubTries || s.ctx.Err() != nil {
			s.unscrubbed.Store(true)
			s.log.Warn("what was deleted leaves the files later", "err", err)
			return
		}
		select {
		case <-time.After(scrubAgain):
		case <-s.ctx.Done():
		}
	}
}
