package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/foreign"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// MayUnpack says why a machine from elsewhere could not be made here with these options: what does
// not match, and what to do. Nil where nothing is known against it.
func (s *Service) MayUnpack(ctx context.Context, about machine.Foreign, opts machine.CreateOptions) error {
	_, err := s.unpackable(ctx, about, opts)
	return err
}

// unpackable is MayUnpack, and what the machine is to be.
func (s *Service) unpackable(ctx context.Context, about machine.Foreign, opts machine.CreateOptions) (machine.MachineRecord, error) {
	if s.isClosing() {
		return machine.MachineRecord{}, machine.Closing()
	}
	chosen := opts.Name
	opts.Name = cmp.Or(opts.Name, about.Name)
	if chosen == "" && (checkName(opts.Name) != nil || s.taken(opts.Name, "")) {
		opts.Name = ""
	}
	if opts.Title == "" {
		opts.Title = s.titles().free(about.Title)
	}
	if opts.Tags == nil {
		opts.Tags = about.Tags
	}
	opts.MemoryMB = cmp.Or(opts.MemoryMB, min(about.MemoryMB, s.mostForeign()))
	opts.Image = about.Image
	opts.Network = machine.NetworkPolicy{Mode: machine.NetworkOff}
	rec, err := s.newRecord(opts)
	if err != nil {
		return rec, err
	}
	size, err := foreign.State(about.State)
	if err != nil {
		return rec, err
	}
	engine, err := s.engineOf(rec.Engine)
	if err != nil {
		return rec, err
	}
	if err := engine.CheckCompatible(ctx, rec.Image, about.State.Needs); err != nil {
		return rec, err
	}
	if size > s.roomFor() {
		return rec, &machine.Error{Kind: machine.ErrDiskFull, Message: fmt.Sprintf("This machine takes %d MB, for which the disk has not enough room. %s", size>>20, machine.FreeSpace)}
	}
	return rec, nil
}

// roomFor is how many bytes may come from elsewhere, so that enough stays for the machines that
// there are.
func (s *Service) roomFor() int64 {
	free := s.free()
	if free < 0 {
		return math.MaxInt64
	}
	return free - s.set.Load().MinFreeDisk
}

// Unpack makes a machine of one that came from elsewhere, under a new ID, and under its name where
// that is free. It has no network until a person allows it, whatever it had. Until it is whole it
// is not there.
func (s *Service) Unpack(ctx context.Context, p machine.Parcel, opts machine.CreateOptions) (machine.Machine, error) {
	if !s.enter() {
		return machine.Machine{}, machine.Closing()
	}
	defer s.group.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	rec, err := s.unpackable(ctx, p.About(), opts)
	if err != nil {
		return machine.Machine{}, err
	}
	// Written down as garbage first: should we die before the machine is recorded, nothing of it
	// stays behind.
	trash := machine.Garbage{Engine: rec.Engine, Machine: rec.ID}
	s.making.Store(rec.ID, true)
	defer s.making.Delete(rec.ID)
	err = s.store.Write(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) })
	if err == nil {
		err = s.takeParcel(ctx, p, &rec, opts.Name != "", trash)
	}
	if err != nil {
		s.making.Delete(rec.ID)
		s.spawn(s.takeOutGarbage)
		s.health.failed(err)
		return machine.Machine{}, err
	}
	f := newEntry(s, rec)
	s.adopt(f, rec.Name)
	o := f.lock()
	defer o.unlock()
	o.publish()
	return o.snapshot(), nil
}

// takeParcel takes over state and history, and records the machine. named says that its name was
// asked for.
func (s *Service) takeParcel(ctx context.Context, p machine.Parcel, rec *machine.MachineRecord, named bool, trash machine.Garbage) error {
	about := p.About()
	info, err := s.saved(rec.Engine).Import(ctx, rec.ID, about.State, p.NextFile)
	if err != nil {
		return err
	}
	c := machine.CheckpointRecord{Checkpoint: machine.Checkpoint{
		ID: info.ID, Machine: rec.ID, Kind: machine.CheckpointAuto, CreatedAt: time.Now().UTC(), LastSeq: about.State.LastSeq,
		Size: info.Size, Image: info.Image, Runtime: info.Runtime,
	}, Clone: true, Whole: info.Whole}
	rec.Base, rec.Fallback, rec.NextSeq = c.ID, c.ID, c.LastSeq+1
	rec.NextNotice = "This machine came from a file, so it has no network until a person allows it."
	rec.Notice = rec.NextNotice
	titles := s.titles() // before the store is held, for which who holds a machine may wait
	for {
		err = s.store.WriteSync(ctx, func(w machine.Writer) error {
			if err := w.PutMachine(*rec); err != nil { // first, as nothing of the history has been read then
				return err
			}
			limits := s.set.Load().Output
			limits.File = s.roomForOutput()
			h := foreign.NewHistory(w, rec, s.kept, limits, s.roomFor())
			if err := p.History(ctx, h.Take); err != nil {
				return err
			}
			if c.Lost, err = h.End(); err != nil {
				return err
			}
			rec.DerivedTitle = titles.free(rec.DerivedTitle)
			if err := w.PutCheckpoint(c); err != nil {
				return err
			}
			if err := w.PutMachine(*rec); err != nil {
				return err
			}
			return w.RemoveGarbage(trash)
		})
		if !errors.Is(err, machine.ErrNameTaken) || named {
			return err
		}
		rec.Name = s.unusedName() // somebody took it meanwhile
	}
}

// titles are what machines are called.
type titles map[string]bool

func (s *Service) titles() titles {
	all := titles{}
	for _, e := range s.entries() {
		m := e.Machine()
		all[cmp.Or(m.Title, m.DerivedTitle)] = true
	}
	return all
}

// free is a title that tells a machine from the others: with a number where one has it.
func (t titles) free(title string) string {
	found := title
	for n := 2; title != "" && t[found]; n++ {
		number := fmt.Sprintf(" (%d)", n)
		found = naming.Clip(title, maxTitle-len("…")-len(number)) + number
	}
	return found
}
