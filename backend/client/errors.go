package client

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

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
	// ErrDropped: the connection broke after the request was sent, or what came back is no answer;
	// whether it took effect is unknown.
	ErrDropped = errors.New("connection dropped")
	// ErrSlow: the server did not answer in time.
	ErrSlow = errors.New("no answer in time")
	// ErrLimited: the server takes no more for now; Error.RetryAfter may say until when.
	ErrLimited = errors.New("too many requests")
	// ErrServer: the server, or what stands before it, failed.
	ErrServer = errors.New("server failed")
	// ErrProxy: the proxy that this computer is set to use does not lead to the server.
	ErrProxy = errors.New("proxy failed")
	// ErrUntrusted: the connection is not safe, so that nothing was sent on it.
	ErrUntrusted = errors.New("connection not safe")
	// ErrIntercepted: somebody else answered, such as the sign-in page of a hotel's network, or a
	// proxy.
	ErrIntercepted = errors.New("answered by somebody else")
)

var errNoAddress = errors.New("no server address is known: set FOREVERVM_BASE_URL or start the daemon with `forevervm serve`")

// Error is an answer of the server that is not a success. Its message is a sentence for a person.
type Error struct {
	Status  int    // HTTP status
	Code    string // CamelCase word, "MachineNotFound"; "" when the server gave none
	Message string
	// RetryAfter is how long the server asked to be left alone; 0 when it did not.
	RetryAfter time.Duration
	html       bool // it came as a page for people
	mute       bool // the server gave no message; this one is ours
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Is tells the kinds above apart.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden && !e.html
	case ErrNameTaken:
		return e.Code == "NameTaken"
	case ErrInvalid:
		return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
	case ErrConflict:
		return e.Status == http.StatusConflict && e.Code != "NameTaken"
	case ErrUnavailable:
		return e.Status == http.StatusServiceUnavailable
	case ErrLimited:
		return e.Status == http.StatusTooManyRequests
	case ErrServer:
		return e.Status >= 500
	case ErrIntercepted:
		return e.Status >= 300 && e.Status < 400 || e.Status == http.StatusProxyAuthRequired || e.Status == http.StatusNetworkAuthenticationRequired ||
			e.html && e.Status == http.StatusForbidden
	}
	return false
}

// fromGateway says that not the server itself has answered but what stands before it, which may
// have passed the request on.
func (e *Error) fromGateway() bool {
	return e.Code == "" && (e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout)
}

// answerError reads what the server said beside a status that is not 2xx.
func answerError(resp *http.Response) *Error {
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	said := &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header), html: isPage(resp)}
	var parsed api.Error
	if readErr == nil && json.Unmarshal(body, &parsed) == nil {
		said.Code, said.Message = parsed.Code, parsed.Message
	}
	if said.mute = said.Message == ""; said.mute {
		said.Message = fmt.Sprintf("the server answered %s to %s %s", resp.Status, resp.Request.Method, resp.Request.URL.Path)
		if said.Code != "" {
			said.Message += " (" + said.Code + ")"
		}
		switch {
		case said.Status == http.StatusUnauthorized:
			said.Message += ": the token is missing or wrong"
		case said.Status == http.StatusTooManyRequests:
			said.Message += ": it takes no more for now; wait a little and try again"
		case errors.Is(said, ErrIntercepted):
			said.Message += ": this is not ForeverVM's answer but that of something on the way to it, such as a network that wants you to sign in first, or a proxy"
		case said.Status >= 500:
			said.Message += ": it has trouble of its own; try again later"
		}
	}
	return said
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(time.Until(at), time.Hour))
	}
	return 0
}

// isPage says whether an answer is a page for people.
func isPage(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/html"
}

var errPage = fmt.Errorf("%w: a page for people came in place of an answer; the network may want you to sign in first", ErrIntercepted)

// lacksAPI says whether an answer to a request under /api comes from a server that has none: ours
// always adds a message.
func lacksAPI(resp *http.Response, path string, said *Error) bool {
	missing := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed
	return missing && underAPI(path) && said.mute
}

func underAPI(path string) bool { return strings.HasPrefix(path, "/api/") }

// unsupported is the error of a call that a wire-only server has no answer to.
func unsupported(url string) error {
	return fmt.Errorf("%w: %s speaks only the ForeverVM wire protocol (create, list and run); "+
		"checkpoints, files, history and the rest need the local daemon", ErrUnsupported, url)
}

// isTLS says whether an error comes from the other side not being who it should be, or from nobody
// there speaking TLS.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &alert) || errors.Is(err, http.ErrSchemeMismatch)
}
