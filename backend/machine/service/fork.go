package service

import (
	"context"
	"maps"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/life"
	"github.com/forevervm/desktop/backend/machine/output"
	"github.com/forevervm/desktop/backend/machine/points"
)

// Fork makes a new machine from a checkpoint of another, with the history up to there. An
// instruction that was running goes on in the fork under its number.
func (e *entry) Fork(ctx context.Context, checkpoint string, opts machine.CreateOptions) (machine.Machine, error) {
	if e.s.isClosing() {
		return machine.Machine{}, machine.Closing()
	}
	if err := e.s.roomForMore(); err != nil {
		return machine.Machine{}, err
	}
	return under(ctx, e, func(ctx context.Context) (machine.Machine, error) { return e.fork(ctx, checkpoint, opts) })
}

// fork is Fork with op held.
func (e *entry) fork(ctx context.Context, checkpoint string, opts machine.CreateOptions) (machine.Machine, error) {
	s := e.s
	if err := e.takeUp(ctx); err != nil {
		return machine.Machine{}, err
	}
	parent := e.Machine()
	if parent.State == machine.Deleted {
		return machine.Machine{}, machine.InBin(parent.Name)
	}
	rec, err := s.newRecord(inherit(opts, parent))
	if err != nil {
		return machine.Machine{}, err
	}
	if rec.Image != parent.Image {
		return machine.Machine{}, machine.Invalid("A fork has the image of its parent: %s.", parent.Image)
	}
	source, err := e.forkSource(ctx, checkpoint)
	if err != nil {
		return machine.Machine{}, err
	}
	rec.Parent = &machine.Parent{ID: parent.ID, Name: parent.Name, LastSeq: source.LastSeq}
	rec.NextSeq = source.LastSeq + 1
	if rec.NextSeq > 0 {
		rec.DerivedTitle = parent.DerivedTitle // its history has that code, too
	}
	// Written down as garbage first: should we die before the fork is recorded, nothing of it stays
	// behind.
	trash := machine.Garbage{Engine: rec.Engine, Machine: rec.ID}
	s.making.Store(rec.ID, true)
	defer s.making.Delete(rec.ID)
	if err := s.store.Write(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) }); err != nil {
		return machine.Machine{}, err
	}
	var run *machine.InstructionRecord
	err = e.copyInto(ctx, &rec, &run, source, trash)
	if err != nil {
		s.making.Delete(rec.ID)
		s.spawn(s.takeOutGarbage)
		return machine.Machine{}, err
	}
	f := newEntry(s, rec)
	if run != nil {
		f.guarded.run, f.guarded.life = run, life.New(run.Seq)
	}
	s.adopt(f, rec.Name)
	o := f.lock()
	defer o.unlock()
	o.publish()
	o.on(life.Asked{})
	return o.snapshot(), nil
}

// inherit takes what opts does not say from the parent.
func inherit(opts machine.CreateOptions, parent machine.Machine) machine.CreateOptions {
	if opts.Title == "" {
		opts.Title = parent.Title
	}
	if opts.Tags == nil {
		opts.Tags = maps.Clone(parent.Tags)
	}
	if opts.MemoryMB == 0 {
		opts.MemoryMB = parent.MemoryMB
	}
	if opts.Engine == "" || opts.Engine == autoEngine {
		opts.Engine = parent.Engine
	}
	if opts.Image == "" {
		opts.Image = parent.Image
	}
	opts.Owner = parent.Owner // what is in it is theirs
	if opts.Network.Mode == machine.NetworkDefault && len(opts.Network.Hosts) == 0 {
		opts.Network = parent.Network // or a fork would be a way around it
	}
	return opts
}

// forkSource is the checkpoint to fork from, made now where the present state is meant. One without
// an ID is the template. op is held.
func (e *entry) forkSource(ctx context.Context, checkpoint string) (machine.CheckpointRecord, error) {
	o := e.lock()
	x := o.sess
	base := o.rec.Base
	if checkpoint == "" && base != "" && o.saved(ctx) {
		checkpoint = base
	}
	unused := base == "" && o.rec.NextSeq == 0 && (x == nil || x.version == 0)
	if checkpoint != "" {
		defer o.unlock()
		return o.checkpointOf(ctx, checkpoint)
	}
	o.unlock()
	if unused || x == nil {
		return machine.CheckpointRecord{Checkpoint: machine.Checkpoint{LastSeq: -1}}, nil
	}
	return e.checkpoint(ctx, x, machine.CheckpointAuto, "", true)
}

// presentFor is how long a checkpoint of an idle machine passes for its present state; threads may
// go on in it.
const presentFor = 5 * time.Second

// saved says whether Base is the present state.
func (o owned) saved(ctx context.Context) bool {
	if o.sess == nil {
		return true
	}
	if o.run != nil || o.sess.version != o.sess.clean {
		return false
	}
	c, err := o.s.store.Checkpoint(ctx, o.rec.Base)
	return err == nil && time.Since(c.CreatedAt) < presentFor
}

// copyInto copies checkpoint, what the fork falls back to, overflow files and history, and records
// the new machine.
func (e *entry) copyInto(ctx context.Context, rec *machine.MachineRecord, run **machine.InstructionRecord, source machine.CheckpointRecord, trash machine.Garbage) error {
	s, parent := e.s, e.id
	var copied []machine.CheckpointRecord // the fallback first, where it is another
	if source.RunningSeq != nil {
		all, err := s.store.Checkpoints(ctx, parent)
		if err != nil {
			return err
		}
		if quiet := (points.Points{All: all}).QuietBefore(source); quiet != nil {
			copied = append(copied, *quiet)
		}
	}
	if source.ID != "" {
		copied = append(copied, source)
	}
	for i := range copied {
		c := &copied[i]
		info, err := s.copyState(ctx, parent, e.engine(), c.ID, rec)
		if err != nil {
			return saveError(err)
		}
		c.ID, c.Machine, c.Size, c.Whole, c.Clone = info.ID, rec.ID, info.Size, info.Whole, true
		c.Kind, c.Label, c.CreatedAt, c.Parent = machine.CheckpointAuto, "", time.Now().UTC(), rec.Base
		c.ClearBranch()
		rec.Base = c.ID
		if c.RunningSeq == nil {
			rec.Fallback = c.ID
		}
	}
	mark := source.Mark
	var running *machine.InstructionRecord
	if mark != nil {
		in, err := s.store.Instruction(ctx, parent, mark.Seq)
		if err != nil {
			return err
		}
		running = &in
	}
	if err := s.copyOverflows(ctx, parent, rec.ID, source.LastSeq, mark); err != nil {
		return err
	}
	err := s.store.WriteSync(ctx, func(w machine.Writer) error {
		if err := w.PutMachine(*rec); err != nil {
			return err
		}
		for _, c := range copied {
			if err := w.PutCheckpoint(c); err != nil {
				return err
			}
		}
		if err := w.CopyHistory(parent, rec.ID, source.LastSeq, mark); err != nil {
			return err
		}
		if err := w.MarkLost(rec.ID, source.Lost); err != nil {
			return err
		}
		return w.RemoveGarbage(trash)
	})
	if err == nil && running != nil {
		*run = running.AsOf(rec.ID, mark)
	}
	return err
}

// copyOverflows gives a fork its own overflow files.
func (s *Service) copyOverflows(ctx context.Context, from, to machine.ID, last int, mark *machine.Mark) error {
	for after := -1; after < last; {
		page, err := s.store.Overflows(ctx, from, after)
		if err != nil {
			return err
		}
		for _, o := range page {
			after = o.Seq
			if o.Seq > last {
				return nil
			}
			end := o.Items
			length := o.Overflow
			if mark != nil && mark.Seq == o.Seq {
				end = mark.Items
			}
			kept, err := output.CopyFile(output.Path(s.kept.Dir, from, o.Seq), output.Path(s.kept.Dir, to, o.Seq), length, end)
			if err != nil {
				return err
			}
			if mark != nil && mark.Seq == o.Seq {
				mark.Progress.Overflow = kept
			}
		}
		if len(page) == 0 {
			return nil
		}
	}
	return nil
}
