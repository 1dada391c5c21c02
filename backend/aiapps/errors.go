package aiapps

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// The kinds of an Error.
var (
	ErrUnknown      = errors.New("there is no such app or backup")
	ErrNotInstalled = errors.New("the app is not installed")
	ErrNotConnected = errors.New("the app is not connected")
	ErrMustAsk      = errors.New("the person must be asked first") // Options.Replace says that they were
	ErrFile         = errors.New("the app's file cannot be changed")
	ErrRuns         = errors.New("the app cannot be quit or started")
	ErrNoOffer      = errors.New("the app cannot ask on its own")
)

// Error is what a person is told: what happened, what it means, and what to do.
type Error struct {
	Kind    error
	Message string // a sentence or two
	Cause   error  // may be nil
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives kind and cause to errors.Is.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

func notInstalled(app App) error {
	return &Error{Kind: ErrNotInstalled, Message: fmt.Sprintf("%s was not found on this computer. If it is here, start it once, so that it makes its folder, and try again.", app.Name)}
}

func hasTheExtension(app App) error {
	return &Error{Kind: ErrMustAsk, Message: fmt.Sprintf("%s has ForeverVM as an extension already, and needs no entry in its settings. To have the entry instead, remove the extension there first.", app.Name)}
}

// explain makes a sentence of what went wrong with a file. Whatever it is, the file is as it was.
func (m *Manager) explain(app App, path string, err error) error {
	var told *Error
	if errors.As(err, &told) {
		return err
	}
	var message string
	var broken *configfile.BrokenError
	switch {
	case errors.As(err, &broken):
		message = fmt.Sprintf("%s's settings in %s are broken, so they were left alone: %s. Mend that, or restore a backup, and try again.", app.Name, path, broken)
	case errors.Is(err, configfile.ErrNoWay):
		message = fmt.Sprintf("Nothing was changed in %s: %v. Add the entry, or take it out, by hand; its command is %s.",
			path, err, strings.Join(append([]string{m.config.Server.Program}, m.config.Server.Args...), " "))
	case errors.Is(err, safefile.ErrChanged):
		message = fmt.Sprintf("Nothing was changed: %s keeps writing to %s. Quit it and try again.", app.Name, path)
	case errors.Is(err, safefile.ErrRefused):
		message = fmt.Sprintf("Nothing was changed: %v.", err)
	case errors.Is(err, fs.ErrPermission):
		message = fmt.Sprintf("Nothing was changed: you are not allowed to read and write %s and its folder. Allow it, or ask the administrator of this computer.", path)
	case errors.Is(err, syscall.ENOSPC):
		message = fmt.Sprintf("Nothing was changed: the disk of %s is full. Make room and try again.", path)
	case errors.Is(err, syscall.EROFS):
		message = fmt.Sprintf("Nothing was changed: %s is on a disk that cannot be written to.", path)
	default:
		message = fmt.Sprintf("Nothing was changed in %s: %v.", path, cause(err))
	}
	return &Error{Kind: ErrFile, Message: message, Cause: err}
}

// cause is what the system says, without the names of our temporary files.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
