package machine

import (
	"errors"
	"fmt"

	"github.com/forevervm/desktop/backend/machine/naming"
)

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
	// ErrApart is beside another kind: the connection to a place was lost, and a supervisor there
	// may have the machine.
	ErrApart = errors.New("connection to the place lost")
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

// FreeSpace says what really frees space: moving a machine to the bin does not.
const FreeSpace = "To free space, open Settings, Storage, Free up space, or remove something else from this disk."

// Invalid is an ErrInvalid with a sentence.
func Invalid(format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Message: fmt.Sprintf(format, args...)}
}

// Conflict is an ErrConflict with a sentence.
func Conflict(format string, args ...any) error {
	return &Error{Kind: ErrConflict, Message: fmt.Sprintf(format, args...)}
}

// NoMachine answers who asks for a machine that there is not.
func NoMachine(name string) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("There is no machine called %q.", name)}
}

// NoInstruction answers who asks for an instruction that there is not.
func NoInstruction(name string, seq int) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("%s has no step %d.", name, seq+1)}
}

// NoCheckpoint answers who asks for a checkpoint that there is not.
func NoCheckpoint(name, id string) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("%s has no checkpoint %q; it may have been deleted.", name, id)}
}

// NameTaken answers who chooses the name of another machine.
func NameTaken(name string) error {
	return &Error{Kind: ErrNameTaken, Message: fmt.Sprintf("Another machine is called %q, or was. Choose another name.", naming.Clip(name, 80))}
}

// InBin answers who gives work to a machine in the bin.
func InBin(name string) error {
	return Conflict("%s is in the bin. Restore it from there to use it.", name)
}

// Closing answers what comes while the service ends.
func Closing() error {
	return &Error{Kind: ErrUnavailable, Message: "ForeverVM is shutting down; its machines are being saved. Try again when it runs again."}
}

// IsNotFound says whether err is an ErrNotFound.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
