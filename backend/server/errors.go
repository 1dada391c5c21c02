package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/parcel"
)

// failure is an error of the HTTP side with its answer.
type failure struct {
	status  int
	code    string // CamelCase
	message string // what happened, what it means, what to do
}

// Error returns the sentence.
func (f *failure) Error() string { return f.message }

var (
	errUnauthorized = &failure{
		http.StatusUnauthorized, "Unauthorized",
		"The token is missing or wrong. `forevervm token` prints the right one; send it as `Authorization: Bearer …`.",
	}
	errOwnerOnly = &failure{
		http.StatusForbidden, "OwnerOnly",
		"This token is for work with machines alone. Do this in ForeverVM's window, or with the command `forevervm`.",
	}
	errHost = &failure{
		http.StatusForbidden, "ForbiddenHost",
		"This address is not one that ForeverVM listens on. Use http://127.0.0.1 or http://localhost with its port.",
	}
	errOrigin = &failure{
		http.StatusForbidden, "ForbiddenOrigin",
		"A web page from elsewhere tried to use ForeverVM, which only its own page and window may do.",
	}
	errSocketWanted = &failure{
		http.StatusUpgradeRequired, "UpgradeRequired",
		"This is a WebSocket. Connect to it with a WebSocket client.",
	}
	errShuttingDown = &failure{
		http.StatusServiceUnavailable, "ShuttingDown",
		"ForeverVM is being stopped. Your machines are saved; try again once it runs.",
	}
	errMoving = &failure{
		http.StatusServiceUnavailable, "Moving",
		"ForeverVM is moving its files to another disk. Your machines are saved; try again in some minutes.",
	}
	errPanic = errors.New("a handler panicked")
)

// revoked is what an AI app gets that the person has locked out.
func revoked(app string) error {
	return &failure{http.StatusUnauthorized, "Revoked", fmt.Sprintf("The person at this computer has locked %s out of ForeverVM. They can allow it again in ForeverVM's window, under Settings › Access.", app)}
}

// invalid is what a request gets that makes no sense.
func invalid(format string, args ...any) error {
	return &failure{http.StatusBadRequest, "Invalid", fmt.Sprintf(format, args...)}
}

// kinds are the domain's errors and their answers. What is not found is told apart in fail.
var kinds = []struct {
	kind   error
	status int
	code   string
}{
	{machine.ErrNameTaken, http.StatusConflict, "NameTaken"},
	{machine.ErrInvalid, http.StatusBadRequest, "Invalid"},
	{machine.ErrConflict, http.StatusConflict, "Conflict"},
	{machine.ErrUnavailable, http.StatusServiceUnavailable, "EngineUnavailable"},
	{machine.ErrCheckpointUnusable, http.StatusConflict, "CheckpointUnusable"},
	{parcel.ErrUnknownMaker, http.StatusConflict, "UnknownMaker"},
	{machine.ErrDiskFull, http.StatusInsufficientStorage, "DiskFull"},
	{machine.ErrInstructionUndecided, http.StatusConflict, "InstructionNotDone"},
	{machine.ErrBusy, http.StatusConflict, "Busy"},
}

// fail answers a request with an error. Once the answer has begun it can only be broken off.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer, id := s.explain(r, err)
	if out, ok := w.(*response); ok && out.status != 0 {
		s.config.Logger.Debug("an answer was broken off", "method", r.Method, "path", r.URL.Path, "err", err)
		panic(http.ErrAbortHandler)
	}
	header := w.Header()
	if answer.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="forevervm"`)
	}
	header.Del("Content-Length")
	header.Del("Content-Disposition")
	body := api.Error{Code: answer.code, Message: answer.message}
	if id != "" {
		body.ID = &id
	}
	_ = writeJSON(w, answer.status, body)
}

// explain says what to answer to an error; id names it in the log, where it is one that people
// cannot act on.
func (s *Server) explain(r *http.Request, err error) (answer *failure, id string) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &answer):
		return answer, ""
	case errors.Is(err, machine.ErrNotFound):
		return &failure{http.StatusNotFound, s.missing(r), sentence(err)}, ""
	case errors.As(err, &tooLarge):
		return &failure{
			http.StatusRequestEntityTooLarge, "TooLarge",
			fmt.Sprintf("This is more than ForeverVM takes in one request (%d bytes).", tooLarge.Limit),
		}, ""
	}
	for _, known := range kinds {
		if errors.Is(err, known.kind) {
			if known.status >= http.StatusInternalServerError {
				s.config.Logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "err", err, "cause", cause(err))
			}
			return &failure{known.status, known.code, sentence(err)}, ""
		}
	}
	if r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		// The client has gone and hears nothing, or the daemon is going.
		return errShuttingDown, ""
	}
	id = newID()
	s.config.Logger.Error("request failed", "id", id, "method", r.Method, "path", r.URL.Path, "err", err, "cause", cause(err))
	return &failure{
		http.StatusInternalServerError, "Internal",
		"Something went wrong inside ForeverVM. Your machines are not affected; try again. The log has the details under " + id + ".",
	}, id
}

// missing names what was not found: the machine of the path, or what was looked for in it.
func (s *Server) missing(r *http.Request) string {
	name := r.PathValue("name")
	if name == "" {
		return "NotFound"
	}
	if _, err := s.machinesOf(r).Find(r.Context(), name); errors.Is(err, machine.ErrNotFound) {
		return "MachineNotFound"
	}
	switch {
	case r.PathValue("seq") != "":
		return "InstructionNotFound"
	case r.PathValue("id") != "":
		return "CheckpointNotFound"
	case r.PathValue("branch") != "":
		return "BranchNotFound"
	}
	return "NotFound"
}

// sentence is what a person is told: the domain's words, without what was wrapped around them on
// the way.
func sentence(err error) string {
	var domain *machine.Error
	if errors.As(err, &domain) {
		return domain.Message
	}
	return err.Error()
}

// cause is what lies behind a domain error's sentence, for the log.
func cause(err error) error {
	var domain *machine.Error
	if errors.As(err, &domain) {
		return domain.Cause
	}
	return nil
}

func newID() string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// jsonProblem makes an answer of what the decoder says about a body.
func jsonProblem(err error) error {
	var tooLarge *http.MaxBytesError
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case errors.As(err, &wrongType):
		return invalid("The field %q of the request must not be a %s.", wrongType.Field, wrongType.Value)
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("The request's body is not JSON: %v.", err)
	}
	return invalid("The request's body cannot be read: %v.", err)
}
