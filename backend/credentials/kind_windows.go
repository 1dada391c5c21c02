package credentials

import (
	"errors"
	"syscall"
)

const errorNoSuchLogonSession = syscall.Errno(1312) // of services and of some remote logons, which have no credential store

// kindOf tells what an error of the Credential Manager means; nil where that is not known.
func kindOf(err error) error {
	switch {
	case errors.Is(err, errorNoSuchLogonSession):
		return ErrNoKeyring
	case errors.Is(err, syscall.ERROR_ACCESS_DENIED):
		return ErrDenied
	}
	return nil
}
