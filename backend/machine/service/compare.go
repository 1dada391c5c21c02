package service

import (
	"context"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/compare"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// maxSteps is how many instructions of each side a comparison tells.
const maxSteps = 500

// Compare tells in what two states of a machine differ: checkpoints, by their IDs or the names of
// branches that end there; "" is the present one. Both are brought into memory, one after the other
// and without a network, looked at, and ended; nothing is left of that.
func (e *entry) Compare(ctx context.Context, a, b string) (found machine.Comparison, err error) {
	err = e.withCopies(ctx, a, b, func(ctx context.Context, copies [2]*lookCopy) error {
		var seen [2]compare.Seen
		for i, c := range copies {
			if i > 0 && c == copies[0] {
				seen[1] = seen[0]
				break
			}
			if seen[i], err = c.look(ctx, compare.Look); err != nil {
				return err
			}
		}
		found, err = e.compared(ctx, copies, seen)
		return err
	})
	return found, err
}

// Contents tells what a checkpoint holds, or the end of the branch with that name. It is looked at
// as in a comparison.
func (e *entry) Contents(ctx context.Context, checkpoint string) (found machine.Contents, err error) {
	err = e.withCopies(ctx, checkpoint, checkpoint, func(ctx context.Context, copies [2]*lookCopy) error {
		seen, err := copies[0].look(ctx, compare.List)
		found = seen.Contents()
		return err
	})
	return found, err
}

// compared puts together what was seen.
func (e *entry) compared(ctx context.Context, copies [2]*lookCopy, seen [2]compare.Seen) (machine.Comparison, error) {
	before, after := copies[0], copies[1]
	c := machine.Comparison{A: before.point, B: after.point, Partial: seen[0].Partial || seen[1].Partial}
	c.Variables, c.Unsure = compare.Variables(seen[0], seen[1])
	c.Files = compare.Files(seen[0], seen[1])
	var err error
	if c.OnlyA, err = e.steps(ctx, before.source, after.source); err == nil {
		c.OnlyB, err = e.steps(ctx, after.source, before.source)
	}
	return c, err
}

// steps are the instructions whose effect is in one checkpoint and not in another, the last ones.
func (e *entry) steps(ctx context.Context, in, but machine.CheckpointRecord) ([]machine.Step, error) {
	all := machine.Without(in.Effects(), but.Effects())
	if len(all) > maxSteps {
		all = all[len(all)-maxSteps:]
	}
	steps := []machine.Step{}
	for _, seq := range all {
		found, err := e.s.store.Instruction(ctx, e.id, seq)
		if machine.IsNotFound(err) || err == nil && found.StartedAt == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, machine.Step{Seq: seq, Title: naming.Title(found.Code)})
	}
	return steps, nil
}
