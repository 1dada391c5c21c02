package service

import (
	"context"
	"math"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/points"
)

// maxBranchName is how many characters the name of a branch may have.
const maxBranchName = 60

// Branches returns the lines of work that a machine's rewinds left, the last left first.
func (e *entry) Branches(ctx context.Context) ([]machine.Branch, error) {
	o := e.lock()
	defer o.unlock()
	if o.life.Gone {
		return nil, machine.NoMachine(o.rec.Name)
	}
	all, err := o.points(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := e.s.store.RolledBack(ctx, e.id, math.MaxInt)
	if err != nil {
		return nil, err
	}
	branches := []machine.Branch{}
	for _, c := range all.Tips() {
		branches = append(branches, c.AsBranch(lost))
	}
	return branches, nil
}

// RenameBranch gives a branch a name that is kept until it is deleted; the line that the machine is
// on can be renamed, too, where it has a name.
func (e *entry) RenameBranch(ctx context.Context, branch, to string) error {
	to, err := checkBranchName(to)
	if err == nil && to == "" {
		err = machine.Invalid("A branch needs a name.")
	}
	if err != nil {
		return err
	}
	return e.onBranch(ctx, func(o owned, all points.Points) error {
		if points.Called(o.rec.Branch, branch) {
			if err := all.MayName(to, branch); err != nil {
				return err
			}
			if err := o.saveSync(ctx, func(m *machine.MachineRecord) { m.Branch = to }); err != nil {
				return err
			}
			o.publish()
			return nil
		}
		tip, err := all.Tip(branch)
		if err != nil {
			return err
		}
		if err := all.MayName(to, branch); err != nil {
			return err
		}
		tip.SetBranch(to, true, tip.LeftAt)
		return o.changeCheckpoints(ctx, []machine.CheckpointRecord{tip}, nil)
	})
}

// DeleteBranch deletes a branch: the checkpoint where it ends, and those before that were made by
// themselves and belong to nothing else. Those that are kept by hand stay.
func (e *entry) DeleteBranch(ctx context.Context, branch string) error {
	return e.onBranch(ctx, func(o owned, all points.Points) error {
		if points.Called(o.rec.Branch, branch) {
			return machine.Conflict("%s is on the branch %q now, so it cannot be deleted. Go back to another checkpoint first.", o.rec.Name, o.rec.Branch)
		}
		tip, err := all.Tip(branch)
		if err != nil {
			return err
		}
		old := all.Belonging(tip)
		tip.ClearBranch()
		return o.changeCheckpoints(ctx, []machine.CheckpointRecord{tip}, old)
	})
}

// onBranch does something to a machine's branches with op held.
func (e *entry) onBranch(ctx context.Context, do func(o owned, all points.Points) error) error {
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	o := e.lock()
	defer o.unlock()
	all, err := o.points(ctx)
	if err != nil {
		return err
	}
	return do(o, all)
}

// points are the machine's restore points. Newest comes first.
func (o owned) points(ctx context.Context) (points.Points, error) {
	all, err := o.s.store.Checkpoints(ctx, o.id)
	return points.Points{Machine: o.rec, All: all, Pinned: o.rewindTo}, err
}

func checkBranchName(name string) (string, error) {
	name = strings.TrimSpace(name)
	return name, checkText("A branch's name", name, maxBranchName)
}
