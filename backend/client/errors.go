package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/forevervm/desktop/backend/api"
)

// Kinds of errors, told apart with errors.Is.
var (
	// ErrNotFound: no such machine, instruction, checkpoint or file.
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized: the token is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrNameTaken: another machine, the bin included, has that name.
	ErrNameTaken = errors.New("name taken")
	// ErrInvalid: what was asked for makes no sense; the message says why.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: not possible in the machine's present state.
	ErrConflict = errors.New("not possible now")
	// ErrUnavailable: the engine or the server cannot do it here or now.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnsupported: the server speaks only the ForeverVM wire, not the daemon's own API.
	ErrUnsupported = errors.New("not supported by this server")
	// ErrDropped: the connection broke after the request was sent; whether it took effect is unknown.
	ErrDropped = errors.New("connection dropped")
)

var errNoAddress = errors.New("no server address is known: set FOREVERVM_BASE_URL or start the daemon with `forevervm serve`")

// Error is an answer of the server that is not a success. Its message is a sentence for a person.
type Error struct {
	Status  int    // HTTP status
	Code    string // CamelCase word, "MachineNotFound"; "" when the server gave none
	Message string
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Is tells the kinds above apart.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case ErrNameTaken:
		return e.Code == "NameTaken"
	case ErrInvalid:
		return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
	case ErrConflict:
		return e.Status == http.StatusConflict && e.Code != "NameTaken"
	case ErrUnavailable:
		return e.Status == http.StatusServiceUnavailable
	}
	return false
}

// answerError reads what the server said beside a status that is not 2xx.
func answerError(resp *http.Response) *Error {
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	said := &Error{Status: resp.StatusCode}
	var parsed api.Error
	if readErr == nil && json.Unmarshal(body, &parsed) == nil {
		said.Code, said.Message = parsed.Code, parsed.Message
	}
	if said.Message == "" {
		said.Message = fmt.Sprintf("the server answered %s to %s %s", resp.Status, resp.Request.Method, resp.Request.URL.Path)
		if said.Code != "" {
			said.Message += " (" + said.Code + ")"
		}
		if said.Status == http.StatusUnauthorized {
			said.Message += ": the token is missing or wrong"
		}
	}
	return said
}

// lacksAPI says whether an answer to a request under /api comes from a server that has none: ours always adds a message.
func lacksAPI(resp *http.Response, path string, said *Error) bool {
	missing := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed
	return missing && underAPI(path) && strings.HasPrefix(said.Message, "the server answered ")
}

func underAPI(path string) bool { return strings.HasPrefix(path, "/api/") }

// unsupported is the error of a call that a wire-only server has no answer to.
func unsupported(url string) error {
	return fmt.Errorf("%w: %s speaks only the ForeverVM wire protocol (create, list and run); "+
		"checkpoints, files, history and the rest need the local daemon", ErrUnsupported, url)
}

// neverSent says whether a failed request certainly did not reach the server.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
