package service

import (
	"context"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// How often the keeper looks: while somebody watches machines in memory, while there are some, and
// else.
const (
	lookWatched  = 2 * time.Second
	lookInMemory = 15 * time.Second
	lookIdle     = time.Minute
	checkEvery   = 5 * time.Minute // engines
	// lookSoon is how long after something has happened the keeper looks, and lookApart how long
	// after it has at the soonest, however much is going on: it asks every machine in memory, which
	// takes a twentieth of the processors where they are started one after another.
	lookSoon  = 100 * time.Millisecond
	lookApart = time.Second
)

// keep looks after everything that time or scarcity brings: live figures, memory pressure, expiry,
// the bin, too many checkpoints.
func (s *Service) keep() {
	checked := time.Now() // by New
	var thinned time.Time
	for {
		looked := time.Now()
		s.measure()
		next := s.expire()
		boxes := s.poll()
		s.relieve()
		s.scrub()
		if time.Since(thinned) > thinEvery {
			s.thin()
			thinned = time.Now()
		}
		if age := time.Since(checked); age > checkEvery || age >= lookIdle && s.ailing() {
			s.CheckEngines()
			checked = time.Now()
		}
		pause := lookIdle
		if boxes > 0 {
			pause = lookInMemory
			if s.hub.Watched() {
				pause = lookWatched
			}
		}
		if !next.IsZero() {
			pause = min(pause, max(0, time.Until(next)))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.nudge:
			select {
			case <-time.After(max(lookSoon, lookApart-time.Since(looked))):
			case <-s.ctx.Done():
			}
		case <-s.ctx.Done():
		}
		timer.Stop()
		if s.ctx.Err() != nil {
			return
		}
	}
}

// poll brings the live figures of every machine in memory up to date, and returns how many there
// are.
func (s *Service) poll() int {
	ctx, cancel := context.WithTimeout(s.ctx, lookWatched)
	defer cancel()
	var mu sync.Mutex
	n := 0
	_ = s.eachInMemory(ctx, func(ctx context.Context, e *entry) error {
		mu.Lock()
		n++
		mu.Unlock()
		e.pollStats(ctx)
		return nil
	})
	return n
}

func (e *entry) pollStats(ctx context.Context) {
	o := e.lock()
	x := o.sess
	alive := x.alive(o)
	o.unlock()
	if !alive {
		return
	}
	st, err := x.box.Stats(ctx)
	if err != nil {
		return
	}
	disk := e.weigh(ctx, x)
	o = e.lock()
	defer o.unlock()
	if o.sess != x {
		return
	}
	weighed := disk != nil && (o.disk == nil || *o.disk != *disk)
	if weighed {
		o.disk = disk
	}
	// A warning comes at 90 % and goes below 85 %, so that it does not flicker.
	limit := int64(o.rec.MemoryMB) << 20
	hungry := st.UsedBytes*10 >= limit*9 || o.hungry && st.UsedBytes*20 >= limit*17
	changed := o.stats == nil || *o.stats != st || hungry != o.hungry || weighed
	o.stats, o.hungry = &st, hungry
	if changed {
		o.publish()
	}
}

// weighEvery is how often the disk of a machine is looked at while something runs there, which asks
// its runner.
const weighEvery = 15 * time.Second

// weigh tells how full the machine's disk is, where that may have changed; nil for no news.
func (e *entry) weigh(ctx context.Context, x *session) *machine.Disk {
	o := e.lock()
	due := x.weighed != x.version || o.life.State == machine.Running && time.Since(x.weighedAt) > weighEvery
	version := x.version
	o.unlock()
	if !due {
		return nil
	}
	disk, err := x.box.Disk(ctx)
	if err != nil {
		return nil
	}
	o = e.lock()
	defer o.unlock()
	x.weighed, x.weighedAt = version, time.Now()
	return &disk
}

// expire moves machines to the bin whose time is over, and empties the bin of what has lain there
// long enough. It returns when the next one is due; zero for never.
func (s *Service) expire() (next time.Time) {
	now := time.Now()
	retention := s.set.Load().BinRetention
	for _, e := range s.entries() {
		m := e.Machine()
		var due time.Time
		switch {
		case m.DeletedAt != nil:
			due = m.DeletedAt.Add(retention)
		case m.ExpiresAt != nil:
			due = *m.ExpiresAt
		default:
			continue
		}
		if due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		var err error
		switch {
		case s.ctx.Err() != nil:
			return next
		case len(e.op) > 0: // something else is done with it, which may take long: the next look tries again
			continue
		case m.DeletedAt != nil:
			err = e.purge(s.ctx, true)
		default:
			err = e.toBin(s.ctx)
		}
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("a machine whose time is over stays for now", "machine", m.ID, "err", err)
		}
	}
	return next
}
