package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

const (
	// branchesKept is how many branches of a machine are kept that nobody gave a name: the last left. The checkpoint of one that is not kept any more
	// goes the way of all automatic ones. A limit that a rewind ran into would keep people from going back.
	branchesKept = 20
	// maxNamed is how many branches of a machine may have names that somebody chose. They are kept until they are deleted.
	maxNamed      = 50
	maxBranchName = 60 // characters
)

// Branches returns the lines of work that a machine's rewinds left, the last left first.
func (e *entry) Branches(ctx context.Context) ([]machine.Branch, error) {
	o := e.lock()
	defer o.unlock()
	if o.life.Gone {
		return nil, machine.NoMachine(o.rec.Name)
	}
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return nil, err
	}
	lost, err := e.s.store.RolledBack(ctx, e.id, math.MaxInt)
	if err != nil {
		return nil, err
	}
	branches := []machine.Branch{}
	for _, c := range tips(all) {
		branches = append(branches, c.AsBranch(lost))
	}
	return branches, nil
}

// tips are the checkpoints that branches end in, the last left first.
func tips(all []machine.CheckpointRecord) []machine.CheckpointRecord {
	found := slices.DeleteFunc(slices.Clone(all), func(c machine.CheckpointRecord) bool { return c.Branch == "" })
	slices.SortStableFunc(found, func(a, b machine.CheckpointRecord) int { return b.LeftAt.Compare(a.LeftAt) })
	return found
}

// RenameBranch gives a branch a name that is kept until it is deleted; the line that the machine is on can be renamed, too, where it has a name.
func (e *entry) RenameBranch(ctx context.Context, branch, to string) error {
	to, err := checkBranchName(to)
	if err == nil && to == "" {
		err = machine.Invalid("A branch needs a name.")
	}
	if err != nil {
		return err
	}
	return e.onBranch(ctx, func(o owned, all []machine.CheckpointRecord) error {
		if called(o.rec.Branch, branch) {
			if err := o.mayName(all, to, branch); err != nil {
				return err
			}
			if err := o.saveSync(ctx, func(m *machine.MachineRecord) { m.Branch = to }); err != nil {
				return err
			}
			o.publish()
			return nil
		}
		tip, err := o.tip(all, branch)
		if err != nil {
			return err
		}
		if err := o.mayName(all, to, branch); err != nil {
			return err
		}
		tip.SetBranch(to, true, tip.LeftAt)
		return o.changeCheckpoints(ctx, []machine.CheckpointRecord{tip}, nil)
	})
}

// DeleteBranch deletes a branch: the checkpoint where it ends, and those before that were made by themselves and belong to nothing else. Those that
// are kept by hand stay.
func (e *entry) DeleteBranch(ctx context.Context, branch string) error {
	return e.onBranch(ctx, func(o owned, all []machine.CheckpointRecord) error {
		if called(o.rec.Branch, branch) {
			return machine.Conflict("%s is on the branch %q now, so it cannot be deleted. Go back to another checkpoint first.", o.rec.Name, o.rec.Branch)
		}
		tip, err := o.tip(all, branch)
		if err != nil {
			return err
		}
		old := o.belongingTo(all, tip)
		tip.ClearBranch()
		return o.changeCheckpoints(ctx, []machine.CheckpointRecord{tip}, old)
	})
}

// onBranch does something to a machine's branches with op held.
func (e *entry) onBranch(ctx context.Context, do func(o owned, all []machine.CheckpointRecord) error) error {
	if err := e.lockOp(ctx); err != nil {
		return err
	}
	defer e.unlockOp()
	o := e.lock()
	defer o.unlock()
	all, err := e.s.store.Checkpoints(ctx, e.id)
	if err != nil {
		return err
	}
	return do(o, all)
}

// belongingTo are the checkpoints that go with the branch that ends in a tip: back to where another line parts from it, to the machine's present
// state, or to what is kept by hand.
func (o owned) belongingTo(all []machine.CheckpointRecord, tip machine.CheckpointRecord) (old []machine.CheckpointRecord) {
	found, children := map[string]machine.CheckpointRecord{}, map[string]int{}
	for _, c := range all {
		found[c.ID] = c
		children[c.Parent]++
	}
	for c, there := tip, true; there; c, there = found[c.Parent] {
		shared := children[c.ID] > 1 || c.ID == tip.ID && children[c.ID] > 0
		ends := c.Kind != machine.CheckpointAuto || c.Branch != "" && c.ID != tip.ID || c.ID == o.rec.Undo && c.ID != tip.ID
		if shared || ends || o.returns(&o.rec, c.ID) {
			break
		}
		old = append(old, c)
		delete(found, c.ID)
	}
	return old
}

// tip is the checkpoint that a branch ends in.
func (o owned) tip(all []machine.CheckpointRecord, branch string) (machine.CheckpointRecord, error) {
	for _, c := range all {
		if called(c.Branch, branch) {
			return c, nil
		}
	}
	return machine.CheckpointRecord{}, &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("%s has no branch %q; it may have been deleted, or taken up again.", o.rec.Name, naming.Clip(branch, 80))}
}

// pointCalled is the checkpoint with an ID, or that a branch with that name ends in.
func (o owned) pointCalled(all []machine.CheckpointRecord, to string) (machine.CheckpointRecord, error) {
	for _, c := range all {
		if c.ID == to {
			return c, nil
		}
	}
	if tip, err := o.tip(all, to); err == nil {
		return tip, nil
	}
	return machine.CheckpointRecord{}, machine.NoCheckpoint(o.rec.Name, naming.Clip(to, 80))
}

// called says whether a branch has a name.
func called(branch, name string) bool { return branch != "" && strings.EqualFold(branch, name) }

func checkBranchName(name string) (string, error) {
	name = strings.TrimSpace(name)
	return name, checkText("A branch's name", name, maxBranchName)
}

// mayName says whether a branch may get a name, which may be the one that it has.
func (o owned) mayName(all []machine.CheckpointRecord, name, has string) error {
	named := 0
	for _, c := range all {
		if called(c.Branch, name) && !called(has, name) {
			return branchTaken(o.rec.Name, c.Branch)
		}
		if c.Named && !called(c.Branch, has) {
			named++
		}
	}
	if called(o.rec.Branch, name) && !called(has, name) {
		return branchTaken(o.rec.Name, o.rec.Branch)
	}
	if named < maxNamed {
		return nil
	}
	return machine.Conflict("%s has %d branches with names of their own, and more are not kept. Delete those that are not needed.", o.rec.Name, named)
}

func branchTaken(name, branch string) error {
	return &machine.Error{Kind: machine.ErrNameTaken, Message: fmt.Sprintf("%s has a branch called %q already. Choose another name.", name, branch)}
}

// leaving is what a rewind does to the branches.
type leaving struct {
	changed []machine.CheckpointRecord // whose branches begin or end
	line    string                     // what the line is called that the machine is on then
	undo    string                     // the checkpoint that was left
}

// branchOff works out what becomes of the machine's branches when it goes to target: what it leaves is one from now on, unless target comes from there and
// nobody gave it a name, and one that ended in target goes on.
func (o owned) branchOff(ctx context.Context, target machine.CheckpointRecord, keepAs string) (leaving, error) {
	if o.rec.Base == target.ID {
		return leaving{line: o.rec.Branch, undo: o.rec.Undo}, nil
	}
	all, err := o.s.store.Checkpoints(ctx, o.id)
	if err != nil {
		return leaving{}, err
	}
	now := time.Now().UTC()
	left, room := leaving{undo: o.rec.Base}, branchesKept
	for _, c := range all {
		switch c.ID {
		case o.rec.Base:
			if name := cmp.Or(keepAs, o.rec.Branch); name != "" {
				c.SetBranch(name, true, now)
			} else if !target.ComesFrom(c.ID, all) {
				c.SetBranch(timeName(all, now), false, now)
				room--
			}
			left.changed = append(left.changed, c)
		case target.ID:
			if c.Named {
				left.line = c.Branch
			}
			c.ClearBranch()
			left.changed = append(left.changed, c)
		}
	}
	for _, c := range tips(all) {
		switch {
		case c.Named || c.ID == target.ID || c.ID == o.rec.Base:
		case room > 0:
			room--
		default:
			c.ClearBranch()
			left.changed = append(left.changed, c)
		}
	}
	return left, nil
}

// timeName makes up a name for a branch that is left now: "22 November 18:14".
func timeName(all []machine.CheckpointRecord, now time.Time) string {
	at := now.Local().Format("2 January 15:04")
	name := at
	for n := 2; slices.ContainsFunc(all, func(c machine.CheckpointRecord) bool { return called(c.Branch, name) }); n++ {
		name = fmt.Sprintf("%s (%d)", at, n)
	}
	return name
}
