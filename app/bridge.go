package app

import (
	"context"
	"errors"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/client"
)

// findWithin bounds the search for the daemon, its start included.
const findWithin = 90 * time.Second

// Bridge is what the page can ask of the window.
type Bridge struct {
	daemon *client.Client
	window *window
}

// Connection says where the daemon is and what opens it; frontend/src/lib/api/connection.ts reads it.
type Connection struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// Connection finds the daemon, which answers when it returns; one that is not there is started. The page asks again
// whenever it has lost the daemon. The error is a sentence for the person.
func (b *Bridge) Connection() (Connection, error) {
	window := b.window.ctx.Load()
	if window == nil {
		return Connection{}, errors.New("The window is not ready yet.")
	}
	ctx, cancel := context.WithTimeout(*window, findWithin)
	defer cancel()
	return find(ctx, b.daemon)
}

func find(ctx context.Context, daemon *client.Client) (Connection, error) {
	// Asking for its health finds a daemon that has moved, and starts one that has gone.
	if _, err := daemon.Health(ctx); err != nil {
		return Connection{}, errors.New(sentence(err))
	}
	at, err := daemon.Endpoint(ctx)
	if err != nil {
		return Connection{}, errors.New(sentence(err))
	}
	return Connection{URL: at.URL, Token: at.Token}, nil
}

// sentence writes an error as one: Go's begin small and end without a full stop.
func sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsPunct(last) && last != ')' && last != '`' {
		return text
	}
	return text + "."
}
