package life

import "github.com/forevervm/desktop/backend/machine"

// End is what is known of a machine whose sandbox has ended.
type End struct {
	Kind       machine.CauseKind
	Saved      bool // it was saved first
	TooLarge   bool // it took more memory than it may, twice in a row
	LeftBehind bool // it had saved a state in which nothing ran, and nobody heard of it
	ByUs       bool // we ended it, because it did not do what it should
	Insisted   bool // namely because the instruction did not stop when it was interrupted

	Run        bool // an instruction ran
	HandedOver bool // and was handed over in this stay in memory
	Begun      bool // and has said something
	Again      bool // and had its second chance before
	Interrupt  bool // and was to be stopped
	Middle     bool // and the machine's base was made in its middle
}

// Outcome is what becomes of a machine whose sandbox has ended.
type Outcome int

const (
	PutAway  Outcome = iota // what was saved is its state
	ToMiddle                // back to the middle of the instruction, which goes on from there
	TryAgain                // back to where nothing ran; the instruction waits to be handed over once more
	FallBack                // back to where nothing ran; the instruction, if one ran, ends with an error
)

// Outcome decides. An instruction has one second chance: from its middle where the sandbox broke,
// or from its start where it had not begun. Else it ends with an error, so that none runs twice
// unnoticed.
func (e End) Outcome() Outcome {
	chance := e.Run && !e.Again && !e.Interrupt && !e.TooLarge
	switch {
	case e.Saved && !e.TooLarge:
		return PutAway
	case chance && e.Middle && e.Kind == machine.EndedBroken && !e.ByUs && !e.LeftBehind:
		return ToMiddle
	case chance && e.HandedOver && !e.Begun && !e.Insisted:
		return TryAgain
	}
	return FallBack
}
