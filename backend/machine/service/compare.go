package service

import (
	"context"
	"maps"
	"slices"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// maxSteps is how many instructions of each side a comparison tells.
const maxSteps = 500

// Compare tells in what two states of a machine differ: checkpoints, by their IDs or the names of branches that end there; "" is the present one. Both are
// brought into memory, one after the other and without a network, looked at, and ended; nothing is left of that.
func (e *entry) Compare(ctx context.Context, a, b string) (machine.Comparison, error) {
	if e.s.isClosing() || !e.s.enter() {
		return machine.Comparison{}, machine.Closing()
	}
	defer e.s.group.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.s.ctx, cancel)()
	if err := e.s.roomForMore(); err != nil {
		return machine.Comparison{}, err
	}
	if err := e.s.looks.Enter(ctx, func() bool { return true }); err != nil {
		return machine.Comparison{}, err
	}
	defer e.s.looks.Leave()
	copies, err := under(ctx, e, func(ctx context.Context) ([2]*lookCopy, error) { return e.copyToLook(ctx, a, b) })
	if err != nil {
		return machine.Comparison{}, err
	}
	defer e.s.spawn(e.s.takeOutGarbage)
	defer copies[0].forget()
	defer copies[1].forget()
	var seen [2]look
	for i, c := range copies {
		if i > 0 && c == copies[0] {
			seen[1] = seen[0]
			break
		}
		if seen[i], err = c.look(ctx); err != nil {
			return machine.Comparison{}, err
		}
	}
	return e.compared(ctx, copies, seen)
}

// compared puts together what was seen.
func (e *entry) compared(ctx context.Context, copies [2]*lookCopy, seen [2]look) (machine.Comparison, error) {
	before, after := copies[0], copies[1]
	c := machine.Comparison{A: before.point, B: after.point, Partial: seen[0].partial || seen[1].partial}
	c.Variables, c.Unsure = compareVariables(seen[0], seen[1])
	c.Files = compareFiles(seen[0], seen[1])
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

// compareVariables compares what was seen of variables, by name.
func compareVariables(a, b look) (changes []machine.VariableChange, unsure []string) {
	for _, name := range names(a.variables, b.variables) {
		before, was := a.variables[name]
		after, is := b.variables[name]
		switch {
		case !a.sawVariable(name) || !b.sawVariable(name):
		case !was:
			changes = append(changes, machine.VariableChange{Name: name, Change: machine.ChangeAdded, After: &after})
		case !is:
			changes = append(changes, machine.VariableChange{Name: name, Change: machine.ChangeRemoved, Before: &before})
		default:
			one, other := a.variableDigests[name], b.variableDigests[name]
			known := one != "" && other != ""
			switch {
			case before.Differs(after) || known && one != other:
				changes = append(changes, machine.VariableChange{Name: name, Change: machine.ChangeChanged, Before: &before, After: &after})
			case !known:
				unsure = append(unsure, name)
			}
		}
	}
	return changes, unsure
}

// compareFiles compares what was seen of files, by path.
func compareFiles(a, b look) (changes []machine.FileChange) {
	for _, where := range names(a.files, b.files) {
		before, was := a.files[where]
		after, is := b.files[where]
		switch {
		case !a.sawFile(where) || !b.sawFile(where):
		case !was:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeAdded, After: &after})
		case !is:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeRemoved, Before: &before})
		case before.Kind != after.Kind:
			changes = append(changes, machine.FileChange{Path: where, Change: machine.ChangeChanged, Before: &before, After: &after})
		case before.Kind != machine.FileFolder:
			one, other := a.fileDigests[where], b.fileDigests[where]
			known := one != "" && other != ""
			if before.Size != after.Size || known && one != other || !known && !before.Modified.Equal(after.Modified) {
				changes = append(changes, machine.FileChange{
					Path: where, Change: machine.ChangeChanged, Before: &before, After: &after, Unsure: !known && before.Size == after.Size,
				})
			}
		}
	}
	return changes
}

func names[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
