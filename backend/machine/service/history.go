package service

import (
	"context"
	"math"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/output"
)

// Instruction returns an instruction as it is now.
func (e *entry) Instruction(ctx context.Context, seq int) (machine.Instruction, error) {
	in, err := e.s.store.Instruction(ctx, e.id, seq)
	return in.Instruction, e.noInstruction(seq, err)
}

// Wait returns the instruction once it is done, or as it is when ctx ends.
func (e *entry) Wait(ctx context.Context, seq int) (machine.Instruction, error) {
	for {
		o := e.lock()
		changed, last, gone := o.changed, o.last, o.life.Gone
		o.unlock()
		if gone {
			return machine.Instruction{}, machine.NoMachine(e.Name())
		}
		if last != nil && last.Seq == seq {
			return *last, nil
		}
		in, err := e.Instruction(ctx, seq)
		if err != nil || in.Status.Done() {
			return in, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return in, ctx.Err()
		case <-e.s.ctx.Done():
			return in, machine.Closing()
		}
	}
}

const (
	defaultInstructions = 50
	maxInstructions     = 500
)

// Instructions returns a page of a machine's history.
func (e *entry) Instructions(ctx context.Context, q machine.InstructionQuery) (machine.Page[machine.Instruction], error) {
	if q.Limit <= 0 {
		q.Limit = defaultInstructions
	}
	q.Limit = min(q.Limit, maxInstructions)
	page, err := e.s.store.Instructions(ctx, e.id, q)
	return known(e, page, err)
}

const (
	defaultPlots = 50
	maxPlots     = 200
)

// Plots returns a page of what a machine's instructions have drawn. What lies in an overflow file
// is not among it.
func (e *entry) Plots(ctx context.Context, q machine.PlotQuery) (machine.Page[machine.Plot], error) {
	if q.Limit <= 0 {
		q.Limit = defaultPlots
	}
	q.Limit = min(q.Limit, maxPlots)
	page, err := e.s.store.Plots(ctx, e.id, q)
	return known(e, page, err)
}

// Items returns what is kept of an instruction's output from an index on: beginning, overflow file
// and end as one.
func (e *entry) Items(ctx context.Context, seq, from, limit int) ([]machine.Item, error) {
	if limit <= 0 || limit > output.MaxItems {
		limit = output.MaxItems
	}
	items, _, err := e.items(ctx, seq, max(0, from), limit)
	return items, err
}

// items reads a page, and the instruction as it was at that moment, without code and data.
func (e *entry) items(ctx context.Context, seq, from, limit int) ([]machine.Item, machine.InstructionRecord, error) {
	items, rec, err := e.s.kept.Items(ctx, e.id, seq, from, limit)
	return items, rec, e.noInstruction(seq, err)
}

// noInstruction says which one is missing.
func (e *entry) noInstruction(seq int, err error) error {
	if machine.IsNotFound(err) {
		return machine.NoInstruction(e.Name(), seq)
	}
	return err
}

// Follow yields items from an index on until the instruction is done.
func (e *entry) Follow(ctx context.Context, seq, from int, yield func(machine.Item) error) (machine.Instruction, error) {
	next := max(0, from)
	for {
		o := e.lock()
		changed, gone := o.changed, o.life.Gone
		recent := o.recentFrom(seq, next)
		there, done := o.itemsSoFar(seq)
		o.unlock()
		if gone {
			return machine.Instruction{}, machine.NoMachine(e.Name())
		}
		if recent == nil && next < there {
			var rec machine.InstructionRecord
			var err error
			if recent, rec, err = e.items(ctx, seq, next, output.MaxItems); err != nil {
				return machine.Instruction{}, err
			}
			done = rec.Status.Done()
		}
		for i := range recent {
			if err := yield(recent[i]); err != nil {
				return machine.Instruction{}, err
			}
			next = recent[i].Index + 1
		}
		if len(recent) > 0 {
			continue
		}
		if done {
			return e.Wait(ctx, seq)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return machine.Instruction{}, ctx.Err()
		case <-e.s.ctx.Done():
			return machine.Instruction{}, machine.Closing()
		}
	}
}

// recentFrom is the rest of the latest items, where they begin no later than wanted.
func (o owned) recentFrom(seq, next int) []machine.Item {
	if o.recentSeq != seq || len(o.recent) == 0 || o.recent[0].Index > next {
		return nil
	}
	at := next - o.recent[0].Index
	if at >= len(o.recent) {
		return nil
	}
	return o.recent[at:]
}

// itemsSoFar is how many items the running instruction has, or the one that finished last, and
// whether it is done. Only the store knows of others: of these there may be any number.
func (o owned) itemsSoFar(seq int) (items int, done bool) {
	switch {
	case o.run != nil && o.run.Seq == seq:
		return o.run.Items, false
	case o.last != nil && o.last.Seq == seq:
		return o.last.Items, true
	default:
		return math.MaxInt, false
	}
}

// Output returns all that is kept of an instruction's text, as it is now.
func (e *entry) Output(ctx context.Context, seq int) (machine.OutputReader, error) {
	text, err := e.s.kept.Text(ctx, e.id, seq)
	return text, e.noInstruction(seq, err)
}

// Search looks in code, output and results of all machines outside the bin, or of one.
func (s *Service) Search(ctx context.Context, q machine.SearchQuery) (machine.Page[machine.SearchHit], error) {
	var id machine.ID
	if q.Machine != "" {
		e, err := s.find(q.Machine)
		if err != nil {
			return machine.Page[machine.SearchHit]{}, err
		}
		id = e.id
	}
	if q.Limit <= 0 {
		q.Limit = defaultInstructions
	}
	q.Limit = min(q.Limit, maxInstructions)
	return s.store.Search(ctx, q, id)
}
