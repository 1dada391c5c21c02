package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// exchange carries files between the person's folder and the machine; nil for none. A machine of
// somebody of a team has no part in that folder: it is another's.
func (e *entry) exchange() machine.Exchange {
	if e.owner != "" {
		return nil
	}
	return e.s.exchange
}

// refresh brings a machine's inbox up to date for who looks there from outside.
func (e *entry) refresh(ctx context.Context, path string) error {
	exchange := e.exchange()
	if exchange == nil || !strings.Contains(path, "inbox") {
		return nil
	}
	return e.touching(ctx, func(b machine.Sandbox) error {
		_, err := exchange.Fill(ctx, e.id, b)
		return err
	})
}

// fill brings the inbox up to date before an instruction that may look there, whose time does not
// count meanwhile. What is returned is called without it.
func (x *session) fill(o owned, seq int, code string) func() {
	exchange := o.exchange()
	if exchange == nil || !exchange.Concerns(o.id, code) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(o.s.ctx)
	began := time.Now()
	x.filling = cancel
	x.limit.stop()
	x.limit = nil
	return func() {
		defer cancel()
		notice, err := exchange.Fill(ctx, x.e.id, x.box)
		if err != nil && ctx.Err() == nil && !errors.Is(err, machine.ErrConflict) { // its sandbox has ended: it is woken and filled again
			x.e.log().Warn("the inbox is not up to date", "err", err)
			notice = naming.Join(notice, "The inbox could not be brought up to date: "+err.Error())
		}
		o := x.e.lock()
		defer o.unlock()
		x.filling = nil
		if o.sess != x || o.run == nil || o.run.Seq != seq {
			return
		}
		run := *o.run
		run.Notice = naming.Join(run.Notice, notice)
		if run.ResumedAt != nil {
			now := time.Now()
			if from := run.ResumedAt.Add(now.Sub(later(began, *run.ResumedAt))); from.Before(now) {
				run.ResumedAt = &from
			}
		}
		o.run = &run
		x.watchTimeout(o)
	}
}

// fetch brings what an instruction left in the outbox to the person's folder, in the background.
func (x *session) fetch(o owned, code string) {
	exchange := o.exchange()
	if exchange == nil || !exchange.Concerns(o.id, code) {
		return
	}
	m := o.rec.Machine
	o.s.spawn(func() {
		notice, err := exchange.Collect(x.e.s.ctx, m, x.box)
		if err != nil && x.e.s.ctx.Err() == nil && !errors.Is(err, machine.ErrConflict) { // the next time brings what is left
			x.e.log().Warn("the outbox was not emptied", "err", err)
			notice = naming.Join(notice, "What is in the outbox could not be brought to your folder: "+err.Error())
		}
		if notice == "" {
			return
		}
		o := x.e.lock()
		defer o.unlock()
		if o.life.Gone {
			return
		}
		if err := o.save(o.s.ctx, func(r *machine.MachineRecord) { r.NextNotice = naming.Join(r.NextNotice, notice) }); err != nil {
			o.log().Warn("a notice is missing", "err", err)
		}
	})
}

// Results is the folder of this computer that the machine's results were brought to.
func (e *entry) Results() (string, error) {
	if exchange := e.exchange(); exchange != nil {
		if path := exchange.Results(e.Machine()); path != "" {
			return path, nil
		}
	}
	return "", machine.Conflict("%s has no results yet. They come when code saves files in /root/outbox.", e.Name())
}
