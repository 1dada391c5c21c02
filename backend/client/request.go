package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/access"
)

// How long a call that may safely be sent again keeps trying to reach a server that answered
// before.
const (
	patience     = 15 * time.Second
	firstBackoff = 25 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

// request is one call to be.
type request struct {
	method string
	path   string // with every part escaped
	query  url.Values
	json   any       // the body, or
	body   io.Reader // the body; sent again only if it can seek
	// repeatable says that sending it twice does no harm, so that it may be sent again after a
	// broken connection.
	repeatable bool
	// within is how long the answer may take, its body included, each time that it is sent; 0 for
	// as long as the context allows.
	within time.Duration
}

// prompt is how long a server may take to answer what does not wait for code to run.
const prompt = time.Minute

// path joins parts under /api/machines, escaping each.
func machinePath(parts ...string) string {
	var b strings.Builder
	b.WriteString("/api/machines")
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}

// answersLost is how many answers to one request may break off on their way before that is an
// error.
const answersLost = 4

// call sends a request and decodes the JSON answer into out (nil: ignored). It returns the answer's
// headers.
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	for lost := 0; ; lost++ {
		resp, err := c.send(ctx, r)
		if err != nil {
			return nil, err
		}
		err = receive(resp, out)
		if err == nil {
			return resp.Header, nil
		}
		if r.repeatable && errors.Is(err, ErrIntercepted) {
			return nil, err
		}
		// What came is no answer, or only a part of one: the same as a connection that broke before
		// it.
		if ctx.Err() != nil || !r.repeatable || r.body != nil || lost == answersLost {
			return nil, c.dropped(ctx, r, err)
		}
		if err := pause(ctx, jittered(firstBackoff<<lost)); err != nil {
			return nil, err
		}
	}
}

// receive reads an answer and closes it.
func receive(resp *http.Response, out any) error {
	defer resp.Body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	}
	if isPage(resp) {
		return errPage
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("the answer is not the JSON that it should be: %w", err)
	}
	return nil
}

// send sends a request until it was answered or may not be sent again. The caller closes the body
// of the answer, which is a success.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var payload []byte
	if r.json != nil {
		var err error
		if payload, err = json.Marshal(r.json); err != nil {
			return nil, fmt.Errorf("%s %s: encode the request: %w", r.method, r.path, err)
		}
	}
	deadline := time.Now().Add(c.link.patience)
	var lost error // what broke a connection on which the request may have reached the server
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		endpoint, err := c.link.current(ctx)
		if err != nil {
			return nil, err
		}
		if c.link.isWireOnly() && underAPI(r.path) {
			return nil, unsupported(endpoint.URL)
		}
		resp, sent, err := c.try(ctx, endpoint, r, payload)
		if err == nil {
			resp, err = c.answered(endpoint, r, resp)
			wait, again := c.again(r, err, backoff)
			if !again || time.Now().Add(wait).After(deadline) || !rewind(r.body) {
				if err != nil {
					err = errors.Join(err, lost)
				}
				return resp, err
			}
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if sent {
			broke := c.dropped(ctx, r, err)
			if !r.repeatable || !rewind(r.body) {
				return nil, broke
			}
			if r.method != http.MethodGet {
				lost = broke
			}
		}
		if time.Now().After(deadline) || isTLS(err) || !c.link.hasWorked() && c.link.locate == nil {
			return nil, errors.Join(lost, unreachable(endpoint, err))
		}
		if _, err := c.link.relocate(ctx, &endpoint); err != nil {
			return nil, errors.Join(lost, err)
		}
		if err := pause(ctx, jittered(backoff)); err != nil {
			return nil, err
		}
	}
}

// again says whether, and after how long, a request may be sent again that was refused: by a server
// that takes no more for now, or by what stands before a server that is not there.
func (c *Client) again(r request, err error, backoff time.Duration) (wait time.Duration, ok bool) {
	var said *Error
	if !errors.As(err, &said) || !said.Is(ErrLimited) && !(r.repeatable && said.fromGateway()) {
		return 0, false
	}
	return max(jittered(backoff), said.RetryAfter), true
}

// jittered spreads what many clients would do at once: from half of a time to all of it.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// try sends a request once. With an error, sent says whether any of it may have reached the server.
func (c *Client) try(ctx context.Context, to Endpoint, r request, payload []byte) (_ *http.Response, sent bool, _ error) {
	body := r.body
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	if body != nil {
		body = io.NopCloser(body) // the transport would close a file that has to be sent again
	}
	address := to.URL + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	cancel := func() {}
	if r.within > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.within)
	}
	// A connection that could not be made, or was not trusted, is never got.
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		cancel()
		return nil, false, err
	}
	if payload != nil {
		req.ContentLength = int64(len(payload))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(payload)), nil }
		req.Header.Set("Content-Type", "application/json")
	}
	c.identify(req.Header, to)
	resp, err := c.link.http.Do(req)
	if err != nil {
		cancel()
		return nil, connected.Load(), err
	}
	resp.Body = &limitedBody{resp.Body, cancel}
	return resp, true, nil
}

// limitedBody ends the time limit of an answer once it is closed.
type limitedBody struct {
	io.ReadCloser
	cancel func()
}

// Close closes the body.
func (b *limitedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// identify adds the token and the program's name.
func (c *Client) identify(h http.Header, to Endpoint) {
	token := to.Token
	if c.limited && to.Owner {
		token = access.ForApp(token, c.name)
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	h.Set("X-Forevervm-Client", c.name+"/"+c.version)
}

// headerText makes a text fit for a header, and such that the server shows it as it is: names come
// from programs that we do not know, and the history is searched for them.
func headerText(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '-'
		}
		return r
	}, s)
	return strings.TrimSpace(clean[:min(len(clean), 100)])
}

// answered turns an answer that is no success into an error.
func (c *Client) answered(from Endpoint, r request, resp *http.Response) (*http.Response, error) {
	c.link.mu.Lock()
	c.link.worked = true
	c.link.mu.Unlock()
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	said := answerError(resp)
	if lacksAPI(resp, r.path, said) {
		c.link.mu.Lock()
		c.link.wireOnly = true
		c.link.mu.Unlock()
		return nil, unsupported(from.URL)
	}
	if said.fromGateway() && !r.repeatable {
		return nil, &droppedError{what: r.method + " " + r.path, cause: said}
	}
	return nil, said
}

func (l *link) hasWorked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.worked
}

// dropped is the error of a request that was cut off after it was sent.
func (c *Client) dropped(ctx context.Context, r request, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &droppedError{what: r.method + " " + r.path, cause: cause}
}

type droppedError struct {
	what  string
	cause error
}

func (e *droppedError) Error() string {
	return fmt.Sprintf("the connection to the server broke during %s, so it is not known whether it took effect; look before trying again (%v)", e.what, e.cause)
}

func (e *droppedError) Unwrap() []error {
	kinds := []error{ErrDropped, e.cause}
	if errors.Is(e.cause, context.DeadlineExceeded) {
		kinds = append(kinds, ErrSlow)
	}
	return kinds
}

// Proxied is for http.Transport.OnProxyConnectResponse, so that a proxy which refuses, say because
// it wants a password, is told from a server that does.
func Proxied(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &net.OpError{Op: proxyConnect, Net: "tcp", Err: fmt.Errorf("it answered %s", resp.Status)}
}

// proxyConnect is what net/http calls connecting to a proxy, in its errors.
const proxyConnect = "proxyconnect"

// unreachable is the error of a request that did not get to the server.
func unreachable(at Endpoint, cause error) error {
	var op *net.OpError
	var name *net.DNSError
	switch {
	case isTLS(cause):
		return fmt.Errorf("%w: who answers at %s cannot show that it is ForeverVM, so it was told nothing; another program or the network may be listening in (%w)", ErrUntrusted, at.URL, cause)
	case errors.As(cause, &op) && (op.Op == proxyConnect || strings.HasPrefix(op.Op, "socks ")):
		return fmt.Errorf("%w: the proxy that this computer is set to use (by HTTPS_PROXY, or in the system's settings) does not lead to %s (%w: %w)", ErrUnavailable, at.URL, ErrProxy, cause)
	case errors.As(cause, &name):
		return fmt.Errorf("%w: this computer does not find %s; it may be offline (%w)", ErrUnavailable, at.URL, cause)
	case errors.Is(cause, context.DeadlineExceeded):
		return fmt.Errorf("%w: the ForeverVM server at %s does not answer (%w: %w)", ErrUnavailable, at.URL, ErrSlow, cause)
	}
	return fmt.Errorf("%w: no ForeverVM server answers at %s; is it running? (%w)", ErrUnavailable, at.URL, cause)
}

// rewind makes a body ready to be sent again, if it can be.
func rewind(body io.Reader) bool {
	if body == nil {
		return true
	}
	seeker, ok := body.(io.Seeker)
	if !ok {
		return false
	}
	_, err := seeker.Seek(0, io.SeekStart)
	return err == nil
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
