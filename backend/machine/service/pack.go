package service

import (
	"context"
	"io"
	"sync"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/foreign"
)

// packed is a Packed.
type packed struct {
	about machine.Foreign
	e     *entry
	lost  []machine.Span
	open  machine.OpenState
	close func()
}

// Pack holds a machine still as it was at a checkpoint, or with "" as it is, until what it returns
// is closed or ctx ends. The machine goes on meanwhile. What runs cannot be taken along: a file is
// no place to go on from on its own.
func (e *entry) Pack(ctx context.Context, checkpoint string) (machine.Packed, error) {
	if e.s.isClosing() {
		return nil, machine.Closing()
	}
	if err := e.s.roomForMore(); err != nil {
		return nil, err
	}
	if _, err := e.s.engineOf(e.engine()); err != nil {
		return nil, err
	}
	held, err := under(ctx, e, func(own context.Context) (heldState, error) { return e.hold(own, ctx, checkpoint) })
	if err != nil {
		return nil, err
	}
	open, err := e.s.saved(held.machine.Engine).Export(ctx, held.id, held.copy)
	if err != nil {
		held.release()
		return nil, err
	}
	p := &packed{e: e, lost: held.source.Lost, open: open, close: sync.OnceFunc(func() {
		open.Close()
		held.release()
	})}
	m := held.machine
	p.about = machine.Foreign{
		Name: m.Name, Title: m.Title, Tags: m.Tags, Image: m.Image, MemoryMB: m.MemoryMB, State: open.State,
	}
	p.about.State.LastSeq = held.source.LastSeq // what the sandbox says may be forged
	context.AfterFunc(ctx, p.close)
	return p, nil
}

// About is what the machine was at that checkpoint.
func (p *packed) About() machine.Foreign { return p.about }

// Close lets go of what was held.
func (p *packed) Close() { p.close() }

// Open opens one of the state's files.
func (p *packed) Open(name string) (io.ReadCloser, error) { return p.open.Open(name) }

// heldState is a copy of a checkpoint that nobody else uses.
type heldState struct {
	machine machine.Machine
	source  machine.CheckpointRecord
	id      machine.ID // whose copy it is
	copy    string     // of the checkpoint
	release func()
}

// hold copies a checkpoint for a machine that there is not, which is garbage from the first: should
// we die, nothing of it stays. It is released when caller ends at the latest. op is held.
func (e *entry) hold(ctx, caller context.Context, checkpoint string) (heldState, error) {
	s := e.s
	if err := e.takeUp(ctx); err != nil {
		return heldState{}, err
	}
	h := heldState{machine: e.Machine(), id: machine.NewID()}
	if h.machine.State == machine.Deleted {
		return h, machine.InBin(h.machine.Name)
	}
	if checkpoint == "" && h.machine.RunningSeq != nil {
		return h, machine.Conflict("%s is running something, which a file cannot hold. Wait until it is done, or interrupt it, and try again; or choose one of its checkpoints.", h.machine.Name)
	}
	var err error
	if h.source, err = e.forkSource(ctx, checkpoint); err != nil {
		return h, err
	}
	if h.source.ID == "" {
		return h, machine.Conflict("Nothing has happened in %s yet, so there is nothing to save as a file.", h.machine.Name)
	}
	o := e.lock()
	middle := h.source.RunningSeq != nil || o.run != nil && o.run.Seq <= h.source.LastSeq
	o.unlock()
	if middle {
		return h, machine.Conflict("This checkpoint was made in the middle of a step, which a file cannot hold. Choose another one.")
	}
	if h.source.LastSeq >= foreign.MaxHistory {
		return h, machine.Conflict("%s has run more than %d steps, which is more than a file can hold.", h.machine.Name, foreign.MaxHistory)
	}
	trash := machine.Garbage{Engine: e.engine(), Machine: h.id}
	s.making.Store(h.id, true)
	h.release = sync.OnceFunc(func() {
		s.making.Delete(h.id)
		s.spawn(s.takeOutGarbage)
	})
	err = s.store.Write(ctx, func(w machine.Writer) error { return w.AddGarbage(trash) })
	if err == nil {
		var info machine.CheckpointInfo
		if info, err = s.saved(e.engine()).Copy(ctx, e.id, h.source.ID, h.id); err != nil {
			err = saveError(err)
		}
		h.copy = info.ID
	}
	if err != nil {
		h.release()
		return h, err
	}
	context.AfterFunc(caller, h.release)
	return h, nil
}

// eachUpTo calls do with each instruction up to last, in order.
func (e *entry) eachUpTo(ctx context.Context, last int, do func(machine.Instruction) error) error {
	for after := -1; after < last; {
		page, err := e.s.store.Instructions(ctx, e.id, machine.InstructionQuery{After: &after, Limit: maxInstructions})
		if err != nil {
			return err
		}
		for _, in := range page.Items {
			after = in.Seq
			if in.Seq > last {
				return nil
			}
			if err := do(in); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
	}
	return nil
}

// History calls yield with each instruction up to the checkpoint, in order.
func (p *packed) History(ctx context.Context, yield func(machine.Told) error) error {
	next := 0
	err := p.e.eachUpTo(ctx, p.about.State.LastSeq, func(in machine.Instruction) error {
		next = in.Seq + 1
		in.RolledBack = false
		for _, span := range p.lost {
			in.RolledBack = in.RolledBack || in.StartedAt != nil && span.From <= in.Seq && in.Seq <= span.To
		}
		return yield(machine.Told{Instruction: in, Items: func(yield func(machine.Item) error) error { return p.e.s.kept.Each(ctx, p.e.id, in.Seq, yield) }})
	})
	if err == nil && next != p.about.State.LastSeq+1 {
		err = machine.NoMachine(p.about.Name) // it was removed meanwhile, for good
	}
	return err
}
