// Package client is the Go SDK of the daemon: its own API under /api, and the ForeverVM wire
// (Client.Wire).
//
// A Client may be used from any goroutine. It survives the daemon: a call that could not be sent is
// sent again once the daemon is back (Options.Locate says where, and may start it), a read that
// broke off is repeated, following and events go on where they stopped, and Execute never runs a
// piece of code twice: the daemon knows by its key what is sent again. Everything else that broke
// off half-way is an error that errors.Is tells as ErrDropped.
package client

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/systemproxy"
)

// Endpoint says where a server is.
type Endpoint struct {
	URL   string // "http://127.0.0.1:PORT", without a slash at the end
	Token string // id.secret
	// Owner says that Token is the owner's, of which ForApp makes an app's.
	Owner bool
	// Process tells one running server from the next at the same address; "" when that is not
	// known.
	Process string
}

// Options are what may be said of a client; zero fields mean the default.
type Options struct {
	// Name and Version are told to the server, which shows people who ran what.
	Name    string
	Version string
	// HTTPClient sends the requests. It must not have a Timeout of its own, as instructions may run
	// for hours: the context of each call is what limits it.
	HTTPClient *http.Client
	// Locate finds the server, starting it if need be. It is called before the first request when
	// New was given no address, and whenever the server could not be reached; failed is then where
	// it was not. Nil: the address never changes.
	Locate func(ctx context.Context, failed *Endpoint) (Endpoint, error)

	patience time.Duration // tests have less of it; 0 for patience
}

// Client talks to one server.
type Client struct {
	link          *link
	name, version string
	limited       bool // it shows its app's token in place of the owner's
}

// link is what the copies of a client (As) share.
type link struct {
	http     *http.Client
	patience time.Duration // how long a call that may safely be sent again keeps trying
	locate   func(ctx context.Context, failed *Endpoint) (Endpoint, error)

	// locating is full while the server is being searched for, so that many failing calls cause one
	// search.
	locating chan struct{}

	mu       sync.Mutex
	endpoint *Endpoint // nil before the first location
	worked   bool      // a request was answered before
	wireOnly bool      // the server has no /api
}

// New returns a client of the server at baseURL; it sends nothing yet. With Options.Locate, baseURL
// and token may be empty.
func New(baseURL, token string, opts Options) *Client {
	l := &link{http: &http.Client{}, patience: cmp.Or(opts.patience, patience), locate: opts.Locate, locating: make(chan struct{}, 1)}
	if opts.HTTPClient != nil {
		*l.http = *opts.HTTPClient
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.Proxy = systemproxy.For
		transport.OnProxyConnectResponse = Proxied
		l.http.Transport = transport
	}
	// No ForeverVM server redirects. Who does stands in between, and must not be followed with what
	// was asked.
	l.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if baseURL != "" {
		l.endpoint = &Endpoint{URL: strings.TrimRight(baseURL, "/"), Token: token}
	}
	return (&Client{link: l}).As(opts.Name, opts.Version)
}

// As returns a client that shares everything with this one but tells the server another program's
// name.
func (c *Client) As(name, version string) *Client {
	if name = headerText(name); name == "" {
		name = "forevervm Go client"
	}
	return &Client{link: c.link, name: name, version: strings.ReplaceAll(headerText(version), "/", "-")}
}

// ForApp is As for an AI app. On this computer the client shows the app's token, which opens what
// the tools do, in place of the owner's.
func (c *Client) ForApp(name, version string) *Client {
	app := c.As(name, version)
	app.limited = true
	return app
}

// Endpoint returns where the server is, locating it if that was not done before.
func (c *Client) Endpoint(ctx context.Context) (Endpoint, error) { return c.link.current(ctx) }

// Close lets go of idle connections. The client can still be used.
func (c *Client) Close() { c.link.http.CloseIdleConnections() }

// current returns the endpoint, locating it first if there is none.
func (l *link) current(ctx context.Context) (Endpoint, error) {
	l.mu.Lock()
	known := l.endpoint
	l.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return l.relocate(ctx, nil)
}

// relocate searches for the server after it was not at failed. When another call has found it
// since, that is the answer.
func (l *link) relocate(ctx context.Context, failed *Endpoint) (Endpoint, error) {
	select {
	case l.locating <- struct{}{}:
		defer func() { <-l.locating }()
	case <-ctx.Done():
		return Endpoint{}, ctx.Err()
	}
	l.mu.Lock()
	known := l.endpoint
	l.mu.Unlock()
	if known != nil && (failed == nil || *known != *failed) {
		return *known, nil
	}
	if l.locate == nil {
		if known == nil {
			return Endpoint{}, errNoAddress
		}
		return *known, nil
	}
	found, err := l.locate(ctx, failed)
	if err != nil {
		return Endpoint{}, err
	}
	found.URL = strings.TrimRight(found.URL, "/")
	l.mu.Lock()
	l.endpoint = &found
	l.mu.Unlock()
	return found, nil
}
