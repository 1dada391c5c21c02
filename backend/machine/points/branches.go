package points

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	// branchesKept is how many branches of a machine are kept that nobody gave a name: the last
	// left. The checkpoint of one that is not kept any more goes the way of all automatic ones. A
	// limit that a rewind ran into would keep people from going back.
	branchesKept = 20
	// maxNamed is how many branches of a machine may have names that somebody chose. They are kept
	// until they are deleted.
	maxNamed = 50
)

// Called says whether a branch has a name.
func Called(branch, name string) bool { return branch != "" && strings.EqualFold(branch, name) }

// Tips are the checkpoints that branches end in, the last left first.
func (p Points) Tips() []machine.CheckpointRecord {
	found := slices.DeleteFunc(slices.Clone(p.All), func(c machine.CheckpointRecord) bool { return c.Branch == "" })
	slices.SortStableFunc(found, func(a, b machine.CheckpointRecord) int { return b.LeftAt.Compare(a.LeftAt) })
	return found
}

// Tip is the checkpoint that a branch ends in.
func (p Points) Tip(branch string) (machine.CheckpointRecord, error) {
	for _, c := range p.All {
		if Called(c.Branch, branch) {
			return c, nil
		}
	}
	return machine.CheckpointRecord{}, noBranch(p.Machine.Name, branch)
}

// Belonging are the checkpoints that go with the branch that ends in a tip: back to where another
// line parts from it, to the machine's present state, or to what is kept by hand.
func (p Points) Belonging(tip machine.CheckpointRecord) (old []machine.CheckpointRecord) {
	found, children := map[string]machine.CheckpointRecord{}, map[string]int{}
	for _, c := range p.All {
		found[c.ID] = c
		children[c.Parent]++
	}
	for c, there := tip, true; there; c, there = found[c.Parent] {
		shared := children[c.ID] > 1 || c.ID == tip.ID && children[c.ID] > 0
		ends := c.Kind != machine.CheckpointAuto || c.Branch != "" && c.ID != tip.ID || c.ID == p.Machine.Undo && c.ID != tip.ID
		if shared || ends || p.Returns(c.ID) {
			break
		}
		old = append(old, c)
		delete(found, c.ID)
	}
	return old
}

// MayName says whether a branch may get a name, which may be the one that it has.
func (p Points) MayName(name, has string) error {
	taken := func(branch string) error {
		return &machine.Error{Kind: machine.ErrNameTaken, Message: fmt.Sprintf("%s has a branch called %q already. Choose another name.", p.Machine.Name, branch)}
	}
	named := 0
	for _, c := range p.All {
		if Called(c.Branch, name) && !Called(has, name) {
			return taken(c.Branch)
		}
		if c.Named && !Called(c.Branch, has) {
			named++
		}
	}
	if Called(p.Machine.Branch, name) && !Called(has, name) {
		return taken(p.Machine.Branch)
	}
	if named < maxNamed {
		return nil
	}
	return machine.Conflict("%s has %d branches with names of their own, and more are not kept. Delete those that are not needed.", p.Machine.Name, named)
}

// Left is what a rewind does to the branches.
type Left struct {
	Changed []machine.CheckpointRecord // whose branches begin or end
	Line    string                     // what the line is called that the machine is on then
	Undo    string                     // the checkpoint that was left
}

// Leave works out what becomes of the machine's branches when it goes to target: what it leaves is
// one from now on, called keepAs, unless target comes from there and nobody gave it a name; and one
// that ended in target goes on.
func (p Points) Leave(target machine.CheckpointRecord, keepAs string, now time.Time) Left {
	rec := &p.Machine
	if rec.Base == target.ID {
		return Left{Line: rec.Branch, Undo: rec.Undo}
	}
	left, room := Left{Undo: rec.Base}, branchesKept
	for _, c := range p.All {
		switch c.ID {
		case rec.Base:
			if name := cmp.Or(keepAs, rec.Branch); name != "" {
				c.SetBranch(name, true, now)
			} else if !target.ComesFrom(c.ID, p.All) {
				c.SetBranch(p.timeName(now), false, now)
				room--
			}
			left.Changed = append(left.Changed, c)
		case target.ID:
			if c.Named {
				left.Line = c.Branch
			}
			c.ClearBranch()
			left.Changed = append(left.Changed, c)
		}
	}
	for _, c := range p.Tips() {
		switch {
		case c.Named || c.ID == target.ID || c.ID == rec.Base:
		case room > 0:
			room--
		default:
			c.ClearBranch()
			left.Changed = append(left.Changed, c)
		}
	}
	return left
}

// timeName makes up a name for a branch that is left now: "22 November 18:14".
func (p Points) timeName(now time.Time) string {
	at := now.Local().Format("2 January 15:04")
	name := at
	for n := 2; slices.ContainsFunc(p.All, func(c machine.CheckpointRecord) bool { return Called(c.Branch, name) }); n++ {
		name = fmt.Sprintf("%s (%d)", at, n)
	}
	return name
}
