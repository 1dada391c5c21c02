package machine

import (
	"fmt"
	"slices"
)

// transitions are the legal changes of state. A machine in memory falls back to Swapped from every
// state, because its sandbox may die at any moment.
var transitions = map[State][]State{
	Swapped:  {Waking, Deleted},
	Waking:   {Idle, Running, Swapped},
	Idle:     {Running, Swapping, Swapped},
	Running:  {Idle, Swapping, Swapped},
	Swapping: {Swapped, Idle, Running}, // back, when the state could not be saved
	Deleted:  {Swapped},
}

// To returns next when a machine may go there from s, and an error that says so when it may not.
// Staying is legal.
func (s State) To(next State) (State, error) {
	if s == next || slices.Contains(transitions[s], next) {
		return next, nil
	}
	return s, fmt.Errorf("a machine cannot go from %q to %q", s, next)
}
