package app

import (
	"context"
	"fmt"
	"io"

	"github.com/forevervm/desktop/backend/client"
)

// inBrowser is what remains where no window can be shown: the same page, at an address for a
// browser.
func inBrowser(daemon *client.Client, out io.Writer, why error) int {
	ctx, cancel := context.WithTimeout(context.Background(), findWithin)
	defer cancel()
	at, err := find(ctx, daemon)
	if err != nil {
		return fail(err.Error())
	}
	code, err := daemon.OpenCode(ctx)
	if err != nil {
		return fail(sentence(err))
	}
	fmt.Fprintf(out, "%s\nOpen this address in a browser on this computer; it works once, within a minute (`forevervm open` gives a new one):\n\n  %s/#open=%s\n", sentence(why), at.URL, code)
	return 0
}
