package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// refresh brings a machine's inbox up to date for who looks there from outside.
func (e *entry) refresh(ctx context.Context, path string) error {
	if e.s.exchange == nil || !strings.Contains(path, "inbox") {
		return nil
	}
	return e.touching(ctx, func(b machine.Sandbox) error {
		_, err := e.s.exchange.Fill(ctx, e.id, b)
		return err
	})
}

// fill brings the inbox up to date before an instruction that may look there, whose time does not count meanwhile. mu is held; what
// is returned is called without it.
func (x *session) fill(seq int, code string) func() {
	e := x.e
	exchange := e.s.exchange
	if exchange == nil || !exchange.Concerns(e.id, code) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(e.s.ctx)
	began := time.Now()
	x.filling = cancel
	x.limit.stop()
	x.limit = nil
	return func() {
		defer cancel()
		notice, err := exchange.Fill(ctx, e.id, x.box)
		if err != nil && ctx.Err() == nil && !errors.Is(err, machine.ErrConflict) { // its sandbox has ended: it is woken and filled again
			e.log().Warn("the inbox is not up to date", "err", err)
			notice = naming.Join(notice, "The inbox could not be brought up to date: "+err.Error())
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		x.filling = nil
		if e.sess != x || e.run == nil || e.run.Seq != seq {
			return
		}
		run := *e.run
		run.Notice = naming.Join(run.Notice, notice)
		if run.ResumedAt != nil {
			now := time.Now()
			if from := run.ResumedAt.Add(now.Sub(later(began, *run.ResumedAt))); from.Before(now) {
				run.ResumedAt = &from
			}
		}
		e.run = &run
		x.watchTimeout()
	}
}

// fetch brings what an instruction left in the outbox to the person's folder, in the background. mu is held.
func (x *session) fetch(code string) {
	e := x.e
	exchange := e.s.exchange
	if exchange == nil || !exchange.Concerns(e.id, code) {
		return
	}
	name := e.rec.Name
	e.s.spawn(func() {
		notice, err := exchange.Collect(e.s.ctx, e.id, name, x.box)
		if err != nil && e.s.ctx.Err() == nil && !errors.Is(err, machine.ErrConflict) { // the next time brings what is left
			e.log().Warn("the outbox was not emptied", "err", err)
			notice = naming.Join(notice, "What is in the outbox could not be brought to your folder: "+err.Error())
		}
		if notice == "" {
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.life.Gone {
			return
		}
		if err := e.save(e.s.ctx, func(r *machine.MachineRecord) { r.NextNotice = naming.Join(r.NextNotice, notice) }); err != nil {
			e.log().Warn("a notice is missing", "err", err)
		}
	})
}
