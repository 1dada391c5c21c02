package service

import (
	"context"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
)

// resume takes up, in the background, every machine that was in memory when the last daemon ended,
// or has work waiting.
func (s *Service) resume() {
	for _, e := range s.entries() {
		o := e.lock()
		live := o.rec.Live && o.life.State != machine.Deleted
		if !live {
			o.on(life.Asked{})
		}
		o.unlock()
		if !live || e.lockOp(s.ctx) != nil { // without the lock, which anyone who holds op may be waiting for
			continue
		}
		// Anyone who wants the machine waits until it is known what became of it.
		s.spawn(func() {
			err := e.takeUp(s.ctx)
			e.unlockOp()
			o := e.lock()
			defer o.unlock()
			if err != nil {
				e.log().Error("what the last supervisor left cannot be read", "err", err)
				o.tryLater()
				return
			}
			o.on(life.Asked{})
		})
	}
}

// takeUp finds out what the supervisor of a machine left behind whose daemon had died. With an
// error nothing is known, so nothing has changed: it is asked again before the machine is used. op
// is held.
func (e *entry) takeUp(ctx context.Context) error {
	o := e.lock()
	due := o.rec.Live && o.sess == nil && !o.life.Gone
	stay := o.rec.Life
	o.unlock()
	if !due {
		return nil
	}
	engine, err := e.s.engineOf(e.engine())
	if err != nil {
		return err
	}
	known, err := e.known(ctx)
	if err != nil {
		return err
	}
	info, err := engine.Reclaim(ctx, e.id, stay, known)
	if err != nil {
		return err
	}
	return e.s.patient("what a machine's last run left", func(ctx context.Context) error {
		o := e.lock()
		defer o.unlock()
		if info != nil {
			err = o.reclaimed(ctx, *info)
		} else {
			err = o.unclaimed(ctx)
		}
		if err == nil {
			o.publish()
		}
		return err
	})
}

// known is every checkpoint of the machine that is on record, also to be deleted.
func (e *entry) known(ctx context.Context) ([]string, error) {
	var known []string
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		known = append(known, c.ID)
	}
	garbage, err := e.s.store.Garbage(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range garbage {
		if g.Machine == e.id && g.Checkpoint != "" {
			known = append(known, g.Checkpoint)
		}
	}
	return known, nil
}

// reclaimed takes over the checkpoint that a supervisor made on its own. Usually it was its last
// act and nothing is lost; where the supervisor died later than that, what ran since is.
func (o owned) reclaimed(ctx context.Context, info machine.CheckpointInfo) error {
	kept, err := o.describe(ctx, info, machine.CheckpointAuto, "", o.mark())
	if err != nil {
		return err
	}
	back, err := o.setBack(ctx, kept, false, stoppedUnsaved())
	if err != nil {
		return err
	}
	if o.run != nil && !o.run.Again && !o.life.Interrupt && len(back.gone) == 1 && back.gone[0] == o.run.Seq && o.run.Seq > kept.LastSeq {
		back.retry(end{errNameStopped, "ForeverVM ended"}) // the supervisor lived and was never given it
	}
	if back.run != nil && o.run.ResumedAt != nil { // its clock stood still from then on
		*back.run = *o.run
		back.run.Pause(kept.CreatedAt)
	}
	err = o.rebase(ctx, kept, func(m *machine.MachineRecord) {
		m.Live, m.Touched = false, false
		back.tell(m)
	}, func(w machine.Writer) error { return w.PutCheckpoint(kept) }, back.write)
	if err == nil {
		back.done(ctx)
	}
	return err
}

// unclaimed goes back to what is known, when the supervisor died as well.
func (o owned) unclaimed(ctx context.Context) error {
	lost, err := o.lostSomething(ctx)
	if err != nil {
		return err
	}
	if !lost {
		return o.saveSync(ctx, func(m *machine.MachineRecord) { m.Live = false })
	}
	known, base, err := o.ending(ctx)
	if err != nil {
		return err
	}
	known.Kind = machine.EndedBroken
	return o.goBack(ctx, known.Outcome(), base, stoppedUnsaved(), nil)
}

func stoppedUnsaved() end {
	return end{errNameStopped, "the computer or the sandbox stopped without saving it (" + time.Now().Format("2 January 15:04") + ")"}
}

// lostSomething says whether anything happened to the machine after Base.
func (o owned) lostSomething(ctx context.Context) (bool, error) {
	if o.run != nil {
		return o.run.ResumedAt != nil, nil // saved in its middle, it had not gone on yet
	}
	if o.rec.Touched {
		return true, nil
	}
	base, err := o.checkpointOrTemplate(ctx, o.rec.Base)
	if err != nil {
		return false, err
	}
	gone, err := o.effectsAfter(ctx, base.LostFrom(nil)-1)
	return len(gone) > 0, err
}
