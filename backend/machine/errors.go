package machine

import "errors"

// Kinds of errors, told apart with errors.Is; an Error carries one with a sentence for a person.
var (
	ErrNotFound             = errors.New("not found")
	ErrNameTaken            = errors.New("name taken")
	ErrInvalid              = errors.New("invalid")
	ErrConflict             = errors.New("not possible now")
	ErrUnavailable          = errors.New("engine unavailable")
	ErrCheckpointUnusable   = errors.New("checkpoint unusable")
	ErrDiskFull             = errors.New("disk full")
	ErrInstructionUndecided = errors.New("instruction not done")
	ErrBusy                 = errors.New("Python is busy")
)

// Error is an error whose message is a sentence that a person can act on.
type Error struct {
	Kind    error  // one of the kinds above
	Message string // what happened, what it means, what to do
	Cause   error  // for the log; may be nil
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap gives errors.Is and errors.As the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}
