package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// How long a call that may safely be sent again keeps trying to reach a server that answered before.
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
	// repeatable says that sending it twice does no harm, so that it may be sent again after a broken connection.
	repeatable bool
}

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

// call sends a request and decodes the JSON answer into out (nil: ignored). It returns the answer's headers.
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err == nil {
		return resp.Header, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("%s %s: the server's answer is not JSON: %w", r.method, r.path, err)
	}
	// The answer broke off on its way: the same as a connection that broke before it.
	if ctx.Err() == nil && r.repeatable && r.body == nil {
		if resp, err = c.send(ctx, r); err == nil {
			defer resp.Body.Close()
			if out != nil {
				err = json.NewDecoder(resp.Body).Decode(out)
			}
		}
		if err == nil {
			return resp.Header, nil
		}
	}
	return nil, c.dropped(ctx, r, err)
}

// send sends a request until it was answered or may not be sent again. The caller closes the body of the answer,
// which is a success.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var payload []byte
	if r.json != nil {
		var err error
		if payload, err = json.Marshal(r.json); err != nil {
			return nil, fmt.Errorf("%s %s: encode the request: %w", r.method, r.path, err)
		}
	}
	deadline := time.Now().Add(patience)
	var lost error // what broke a connection on which the request may have reached the server
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		endpoint, err := c.link.current(ctx)
		if err != nil {
			return nil, err
		}
		if c.link.isWireOnly() && underAPI(r.path) {
			return nil, unsupported(endpoint.URL)
		}
		resp, err := c.try(ctx, endpoint, r, payload)
		if err == nil {
			return c.answered(endpoint, r, resp)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !neverSent(err) {
			broke := c.dropped(ctx, r, err)
			if !r.repeatable || !rewind(r.body) {
				return nil, broke
			}
			if r.method != http.MethodGet {
				lost = broke
			}
		}
		if time.Now().After(deadline) || !c.link.hasWorked() && c.link.locate == nil {
			return nil, errors.Join(lost, unreachable(endpoint, err))
		}
		if _, err := c.link.relocate(ctx, &endpoint); err != nil {
			return nil, errors.Join(lost, err)
		}
		if err := pause(ctx, backoff); err != nil {
			return nil, err
		}
	}
}

// try sends a request once.
func (c *Client) try(ctx context.Context, to Endpoint, r request, payload []byte) (*http.Response, error) {
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
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	if payload != nil {
		req.ContentLength = int64(len(payload))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(payload)), nil }
		req.Header.Set("Content-Type", "application/json")
	}
	c.identify(req.Header, to)
	return c.link.http.Do(req)
}

// identify adds the token and the program's name.
func (c *Client) identify(h http.Header, to Endpoint) {
	if to.Token != "" {
		h.Set("Authorization", "Bearer "+to.Token)
	}
	h.Set("X-Forevervm-Client", c.name+"/"+c.version)
}

// headerText makes a text fit for a header, and such that the server shows it as it is: names come from programs that we
// do not know, and the history is searched for them.
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
	return fmt.Sprintf("the connection to the daemon broke during %s, so it is not known whether it took effect; look before trying again (%v)", e.what, e.cause)
}

func (e *droppedError) Unwrap() []error { return []error{ErrDropped, e.cause} }

func unreachable(at Endpoint, cause error) error {
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
