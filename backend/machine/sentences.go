package machine

import (
	"errors"
	"fmt"
)

func invalid(format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Message: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) error {
	return &Error{Kind: ErrConflict, Message: fmt.Sprintf(format, args...)}
}

func noMachine(name string) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("There is no machine called %q.", name)}
}

func noInstruction(name string, seq int) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("%s has no instruction %d.", name, seq)}
}

func noCheckpoint(name, id string) error {
	return &Error{Kind: ErrNotFound, Message: fmt.Sprintf("%s has no checkpoint %q; it may have been deleted.", name, id)}
}

func nameTaken(name string) error {
	return &Error{Kind: ErrNameTaken, Message: fmt.Sprintf("Another machine is called %q, or was. Choose another name.", clip(name, 80))}
}

func inBin(name string) error {
	return conflict("%s is in the bin. Restore it from there to use it.", name)
}

// errClosing answers what comes while the service ends.
func errClosing() error {
	return &Error{Kind: ErrUnavailable, Message: "ForeverVM is shutting down; its machines are being saved. Try again when it runs again."}
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }
