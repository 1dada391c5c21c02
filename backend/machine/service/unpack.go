package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/foreign"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Bounds of what may come from elsewhere.
const (
	maxHistory     = 1 << 20  // instructions
	maxState       = 1 << 40  // bytes
	maxBaseline    = 2 << 30  // bytes: the machine may have so much beyond its limit
	maxHistorySize = 16 << 30 // bytes of all that it says
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
	opts.Title = cmp.Or(opts.Title, about.Title)
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
	st := &about.State
	size := int64(0)
	for _, f := range st.Files {
		if f.Size < 0 || f.Size > maxState-size {
			return rec, foreign.Strange("its state has a size that none can have")
		}
		size += f.Size
	}
	switch {
	case st.LastSeq < -1 || st.LastSeq >= maxHistory:
		return rec, foreign.Strange("its history has a length that none can have")
	case !plausible(st.Needs):
		return rec, foreign.Strange("what it says about the computer that it comes from makes no sense")
	case st.Baseline < 0 || st.Baseline > maxBaseline:
		return rec, foreign.Strange("its numbers cannot be right")
	}
	engine, err := s.engineOf(rec.Engine)
	if err != nil {
		return rec, err
	}
	if err := engine.CheckCompatible(ctx, rec.Image, st.Needs); err != nil {
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

// plausible says whether needs are such as can be written down.
func plausible(n machine.Needs) bool {
	const maxFeatures, maxName = 512, 32
	for _, f := range n.Features {
		if f == "" || len(f) > maxName || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
			return false
		}
	}
	return len(n.Features) <= maxFeatures
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
	info, err := s.checkpoints.Import(ctx, rec.ID, about.State, p.NextFile)
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
	for {
		err = s.store.WriteSync(ctx, func(w machine.Writer) error {
			if err := w.PutMachine(*rec); err != nil { // first, as nothing of the history has been read then
				return err
			}
			h := arriving{s: s, w: w, rec: rec, now: time.Now().UTC(), room: min(maxHistorySize, s.roomFor())}
			if err := p.History(ctx, h.take); err != nil {
				return err
			}
			if h.next != c.LastSeq+1 {
				return foreign.Strange("its history ends too early")
			}
			c.Lost = h.lost
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

// arriving is a history that is taken over, within one write.
type arriving struct {
	s    *Service
	w    machine.Writer
	rec  *machine.MachineRecord
	now  time.Time
	next int   // the number of the next instruction
	room int64 // bytes that may still come: a few in the file may be many here
	lost []machine.Span
}

// take takes over one instruction.
func (a *arriving) take(t machine.Told) error {
	in := machine.InstructionRecord{Instruction: t.Instruction}
	size, err := foreign.Instruction(&in.Instruction, a.next, a.rec.NextSeq)
	if err == nil {
		err = a.fits(size + rowTakes)
	}
	if err != nil {
		return err
	}
	a.next++
	if in.RolledBack {
		if n := len(a.lost); n > 0 && a.lost[n-1].To == in.Seq-1 {
			a.lost[n-1].To = in.Seq
		} else {
			a.lost = append(a.lost, machine.Span{From: in.Seq, To: in.Seq})
		}
	}
	in.Machine = a.rec.ID
	in.Notice = "" // it would be shown as our own words
	in.Client = in.Client.Clean()
	in.QueuedAt = foreign.Past(in.QueuedAt, a.now)
	for _, at := range []**time.Time{&in.StartedAt, &in.EndedAt} {
		if *at != nil {
			then := foreign.Past(**at, a.now)
			*at = &then
		}
	}
	in.LastFrame = math.MaxInt32 // whatever its runner still says of it
	in.OutputBytes = in.OutputDropped
	opener := a.rec.Client
	a.rec.UsedBy(in.Instruction) // for what its code says that it is for
	a.rec.Client = opener
	if err := a.w.AddInstruction(in); err != nil {
		return err
	}
	text, err := a.items(&in, t.Items)
	if err != nil {
		return err
	}
	if err := a.w.PutInstruction(in); err != nil {
		return err
	}
	return a.w.Index(in.Instruction, text)
}

// rowTakes is how many bytes an instruction or an item takes beside what it says, roughly.
const rowTakes = 200

// fits says whether there is room for so many bytes more.
func (a *arriving) fits(size int) error {
	if a.room -= int64(size); a.room < 0 {
		return &machine.Error{Kind: machine.ErrDiskFull, Message: "The history of this machine takes more than the disk has room for. Nothing was opened. " + machine.FreeSpace}
	}
	return nil
}

// items spreads an instruction's output over rows and overflow file as if it came from a sandbox,
// and returns the beginning of its text.
func (a *arriving) items(in *machine.InstructionRecord, each func(func(machine.Item) error) error) (text string, err error) {
	out := output.Layout{Limits: a.s.set.Load().Output}
	var tail []machine.StoredItem // those that may still have to leave
	next := 0
	var begin []byte
	err = each(func(it machine.Item) error {
		if it.Index < next || it.Index >= in.Items {
			return foreign.Strange("its history has output that is out of order")
		}
		size, err := foreign.Item(&it)
		if err == nil {
			err = a.fits(size + rowTakes)
		}
		if err != nil {
			return err
		}
		next = it.Index + 1
		it.At = foreign.Past(it.At, a.now)
		in.OutputBytes += int64(len(it.Text))
		begin = append(begin, it.Text[:min(len(it.Text), searchable-len(begin))]...)
		head := in.HeadEnd
		stored := machine.StoredItem{Item: it, Frame: in.LastFrame}
		evicted := out.Place(in, []machine.StoredItem{stored})
		if in.HeadEnd > head {
			return a.w.AddItems(in.Machine, in.Seq, []machine.StoredItem{stored})
		}
		tail = append(tail, stored)
		if len(evicted) > 0 {
			a.s.spill(in, plain(tail[:len(evicted)]))
			tail = slices.Clone(tail[len(evicted):])
		}
		return nil
	})
	if err == nil {
		err = a.w.AddItems(in.Machine, in.Seq, tail)
	}
	return string(begin), err
}
