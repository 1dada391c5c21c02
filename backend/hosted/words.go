package hosted

import (
	"context"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/machine"
)

// explain makes a sentence for the person, of one of the domain's kinds, of what went wrong with
// the service.
func explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var known *machine.Error
	if errors.As(err, &known) {
		return err
	}
	kind := machine.ErrUnavailable
	var said *client.Error
	if errors.As(err, &said) && !errors.Is(err, client.ErrDropped) {
		switch {
		case errors.Is(err, client.ErrNotFound):
			kind = machine.ErrNotFound
		case errors.Is(err, client.ErrInvalid):
			kind = machine.ErrInvalid
		case errors.Is(err, client.ErrConflict):
			kind = machine.ErrConflict
		}
	}
	return &machine.Error{Kind: kind, Message: words(err), Cause: err}
}

// words are an error as a sentence.
func words(err error) string {
	const here = " Machines on this computer are not affected."
	var lost *client.UnknownError
	var said *client.Error
	switch {
	case errors.As(err, &lost):
		return sentence(lost.Error())
	case errors.Is(err, client.ErrDropped):
		return "The connection to the hosted service broke, and it is not known whether what was asked for was done. Look before you try again." + here
	case errors.Is(err, client.ErrUnauthorized):
		return "The hosted service does not accept your token any more. Sign in again: in the window, or with `forevervm login`." + here
	case errors.Is(err, client.ErrLimited):
		wait := "a little"
		if errors.As(err, &said) && said.RetryAfter > 0 {
			wait = said.RetryAfter.String()
		}
		return fmt.Sprintf("The hosted service takes no more requests for now. Try again in %s.%s", wait, here)
	case errors.As(err, &said) && said.Code != "":
		return sentence(said.Message)
	case errors.Is(err, client.ErrUntrusted):
		return "The connection to the hosted service is not safe, so nothing was sent: this computer does not trust the certificate there. Somebody may be listening in, this computer's clock or proxy may be wrong, or it does not know your company's certificate authority yet." + here
	case errors.Is(err, client.ErrIntercepted):
		return "Something on the way answers in place of the hosted service: a network that wants you to sign in first (open a web page to see), or a proxy." + here
	case errors.Is(err, client.ErrProxy):
		return "The proxy that this computer is set to use (by HTTPS_PROXY, or in the system's settings) does not lead to the hosted service. Check that setting, or ask your network administrator." + here
	case errors.Is(err, client.ErrSlow):
		return "The hosted service does not answer in time. Try again later." + here
	case errors.Is(err, client.ErrUnavailable):
		return "The hosted service cannot be reached. Look whether this computer is online, and try again later." + here
	case errors.Is(err, client.ErrServer):
		return "The hosted service has trouble of its own. Try again later." + here
	case errors.Is(err, client.ErrNotFound):
		return "The hosted service knows no such machine or step (any more)."
	}
	return sentence(err.Error())
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	text = string(unicode.ToUpper(first)) + text[n:]
	if last := text[len(text)-1]; last != '.' && last != '?' && last != '!' {
		text += "."
	}
	return text
}

func invalid(err error) error {
	return &machine.Error{Kind: machine.ErrInvalid, Message: sentence(err.Error()), Cause: err}
}

func conflict(err error) error {
	return &machine.Error{Kind: machine.ErrConflict, Message: sentence(err.Error()), Cause: err}
}

func unavailable(err error) error {
	return &machine.Error{Kind: machine.ErrUnavailable, Message: sentence(err.Error()), Cause: err}
}

// cannot refuses what the service has no call for.
func cannot(what string) error {
	return &machine.Error{Kind: machine.ErrConflict, Message: "The hosted service cannot " + what + ". Machines on this computer can."}
}
