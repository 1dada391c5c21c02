package credentials

import (
	"errors"
	"os/exec"
)

// kindOf tells what the exit status of the `security` program means; nil where that is not known.
func kindOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil
	}
	switch exit.ExitCode() { // the low byte of the system's error numbers
	case 36: // errSecInteractionNotAllowed
		return ErrLocked
	case 51, 128: // errSecAuthFailed, userCanceledErr
		return ErrDenied
	case 48, 50: // errSecNoDefaultKeychain, errSecNoSuchKeychain
		return ErrNoKeyring
	}
	return nil
}
