// Package points has the rules of a machine's restore points: which of its checkpoints stay, and
// which branches end in them. It knows the records alone, and changes nothing.
package points

import (
	"fmt"
	"slices"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
)

// Points are the restore points of one machine.
type Points struct {
	Machine machine.MachineRecord
	All     []machine.CheckpointRecord // newest first
	Pinned  string                     // the checkpoint that the machine is just being returned to; "" for none
}

// Find is the checkpoint with an ID, or that a branch with that name ends in.
func (p Points) Find(to string) (machine.CheckpointRecord, error) {
	for _, c := range p.All {
		if c.ID == to {
			return c, nil
		}
	}
	if tip, err := p.Tip(to); err == nil {
		return tip, nil
	}
	return machine.CheckpointRecord{}, machine.NoCheckpoint(p.Machine.Name, naming.Clip(to, 80))
}

// QuietBefore is the newest checkpoint in the past of one that was made in the middle of an
// instruction in which nothing ran; nil for none.
func (p Points) QuietBefore(middle machine.CheckpointRecord) *machine.CheckpointRecord {
	var newest *machine.CheckpointRecord
	for i := range p.All {
		c := &p.All[i]
		quiet := c.RunningSeq == nil && c.LastSeq < *middle.RunningSeq && c.IsPastOf(&middle)
		if quiet && (newest == nil || c.LastSeq > newest.LastSeq) {
			newest = c
		}
	}
	return newest
}

// Returns says whether the machine comes back from a checkpoint, or is just being returned to it.
func (p Points) Returns(id string) bool {
	return id == p.Machine.Base || id == p.Machine.Fallback || id == p.Pinned
}

// Needs says whether a checkpoint is kept whatever its age, as the machine comes back from it or
// its last rewind is undone with it.
func (p Points) Needs(id string) bool { return p.Returns(id) || id == p.Machine.Undo }

// Replaced are the checkpoints that c, which is about to become the base, takes the place of:
// automatic ones of the same state, made in the middle of an instruction, or called brief, which is
// one of many of work without a pause; and all where only the latest stays. Machine is as it will
// be.
func (p Points) Replaced(c machine.CheckpointRecord, brief string, latestOnly bool) (old []machine.CheckpointRecord) {
	for _, one := range p.All {
		if !one.Passing() || p.Needs(one.ID) {
			continue
		}
		same := one.LastSeq == c.LastSeq && slices.Equal(one.Lost, c.Lost)
		if latestOnly || same || one.RunningSeq != nil || one.ID == brief {
			old = append(old, one)
		}
	}
	return old
}

// Going are the checkpoints that go along when the machine moves to another place, the oldest
// first: those that it needs or somebody keeps, and what to fall back to from those.
func (p Points) Going() (going []machine.CheckpointRecord) {
	goes := map[string]bool{}
	for _, c := range p.All {
		if c.Passing() && !p.Needs(c.ID) {
			continue
		}
		goes[c.ID] = true
		if c.RunningSeq == nil {
			continue
		}
		if quiet := p.QuietBefore(c); quiet != nil {
			goes[quiet.ID] = true
		}
	}
	for _, c := range slices.Backward(p.All) {
		if goes[c.ID] {
			going = append(going, c)
		}
	}
	return going
}

// Moved is what the records become once the checkpoints that go along have been copied. copies are
// by what they are copies of.
func (p Points) Moved(m machine.MachineRecord, copies map[string]machine.CheckpointInfo) ([]machine.CheckpointRecord, machine.MachineRecord) {
	parents := map[string]string{}
	for _, c := range p.All {
		parents[c.ID] = c.Parent
	}
	now := func(id string) string { // what stays behind becomes its nearest ancestor that goes along
		for range p.All {
			if copied, ok := copies[id]; ok {
				return copied.ID
			}
			id = parents[id]
		}
		return ""
	}
	var moved []machine.CheckpointRecord
	for _, c := range slices.Backward(p.All) {
		if copied, ok := copies[c.ID]; ok {
			c.ID, c.Parent, c.Size, c.Whole, c.Shrunk = copied.ID, now(c.Parent), copied.Size, copied.Whole, false
			moved = append(moved, c)
		}
	}
	m.Base, m.Fallback, m.Undo = now(m.Base), now(m.Fallback), now(m.Undo)
	return moved, m
}

func noBranch(name, branch string) error {
	return &machine.Error{Kind: machine.ErrNotFound, Message: fmt.Sprintf("%s has no branch %q; it may have been deleted, or taken up again.", name, naming.Clip(branch, 80))}
}
