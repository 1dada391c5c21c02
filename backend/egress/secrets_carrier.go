package egress

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
)

// carrier passes the requests of one connection on to one host, with secrets where placeholders
// stand, and its answers back without them.
type carrier struct {
	*vault
	guest  *guest
	host   string
	passer *httputil.ReverseProxy

	mu   sync.Mutex
	sent map[string]string // placeholders by value, of what the host was told
}

// newCarrier sends requests over the connection that is open, and over others where that has ended.
func newCarrier(s *vault, v *guest, host string, first *counted) *carrier {
	c := &carrier{vault: s, guest: v, host: host, sent: map[string]string{}}
	var usedFirst atomic.Bool
	transport := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: 1 << 20, MaxConnsPerHost: 1, IdleConnTimeout: idlePatience,
		TLSHandshakeTimeout: dialPatience,
		TLSClientConfig:     &tls.Config{ServerName: host, RootCAs: s.proxy.roots(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if !usedFirst.Swap(true) {
				return first, nil
			}
			return s.proxy.open(v.ctx, v, host, 443)
		},
	}
	context.AfterFunc(v.ctx, transport.CloseIdleConnections)
	c.passer = &httputil.ReverseProxy{
		Transport:      &quiet{transport},
		FlushInterval:  -1,
		ErrorLog:       s.proxy.http.server.ErrorLog,
		Rewrite:        c.rewrite,
		ModifyResponse: c.clean,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			// Others may quote what the host said.
			refused := failed("%s does not answer as it should.", host)
			errors.As(err, &refused)
			http.Error(w, "ForeverVM: "+refused.reason, refused.status())
		},
	}
	return c
}

// ServeHTTP passes one request on.
func (c *carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := splitHostPort(r.Host, 443)
	switch {
	case err != nil || !strings.EqualFold(host, c.host):
		http.Error(w, "ForeverVM: This connection is to "+c.host+".", http.StatusMisdirectedRequest)
		return
	case r.Method == http.MethodConnect, r.Method == http.MethodTrace, r.URL.Opaque != "", !strings.HasPrefix(r.URL.Path, "/"):
		http.Error(w, "ForeverVM: Where a secret is used, only requests for a path pass.", http.StatusBadRequest)
		return
	}
	used, err := c.fill(r)
	if err != nil {
		http.Error(w, "ForeverVM: "+err.Error(), http.StatusBadGateway)
		return
	}
	c.passer.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), usedKey{}, used)))
}

type usedKey struct{}

func (c *carrier) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "https", c.host, c.host
	// What comes back is read: it must be whole, not packed, and in letters that are known.
	p.Out.Header.Set("Accept-Encoding", "identity")
	for _, name := range []string{"Range", "If-Range", "Request-Range", "X-Ms-Range", "Accept-Charset"} {
		p.Out.Header.Del(name)
	}
}

// quiet drops what a host says before an answer (early hints) and after it (trailers): clean does
// not see those. It notes at the connection which secrets that carries.
type quiet struct{ transport *http.Transport }

// RoundTrip sends a request.
func (t *quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(r.Context(), cancel)
	used, _ := r.Context().Value(usedKey{}).([]string)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		secured, ok := info.Conn.(*tls.Conn)
		if !ok {
			return
		}
		if outside, ok := secured.NetConn().(*counted); ok {
			for _, name := range used {
				outside.carries(name)
			}
		}
	}})
	answer, err := t.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	plain := *answer // what follows the body is put into the other one
	plain.Trailer = nil
	return &plain, nil
}

// clean takes values out of an answer: those that the host gets, and those that it was told.
func (c *carrier) clean(answer *http.Response) error {
	c.mu.Lock()
	values := maps.Clone(c.sent)
	c.mu.Unlock()
	for _, one := range c.secretsFor(c.guest, c.host) {
		if value, err := c.secrets.Value(one.Name); err == nil { // else it was not told
			values[value] = one.Placeholder
		}
	}
	if len(values) == 0 {
		return nil
	}
	s := newScrubber(values)
	s.header(answer.Header)
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return failed("%s changes the protocol, which is not possible where a secret is used.", c.host)
	case answer.StatusCode == http.StatusPartialContent, answer.Header.Get("Content-Range") != "":
		return failed("%s answers with a part, in which secrets cannot be found.", c.host)
	case answer.Request.Method == http.MethodHead, answer.StatusCode == http.StatusNoContent, answer.StatusCode == http.StatusNotModified:
		return nil // there is no more
	case wide(answer.Header.Get("Content-Type")):
		return failed("%s answers in letters of several bytes, in which secrets cannot be found.", c.host)
	}
	switch answer.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(answer.Body)
		if err != nil {
			return failed("The answer of %s is damaged.", c.host)
		}
		answer.Body = &unpacking{unpacked, answer.Body}
		answer.Header.Del("Content-Encoding")
	default:
		return failed("%s packed its answer in a way in which secrets cannot be found, although it was asked not to.", c.host)
	}
	answer.Body = s.body(answer.Body)
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	return nil
}

// wide says whether text of a type has several bytes for each letter of ASCII.
func wide(contentType string) bool {
	lower := strings.ToLower(contentType)
	return strings.Contains(lower, "utf-16") || strings.Contains(lower, "utf-32") || strings.Contains(lower, "ucs-")
}

// unpacking is an answer that was packed.
type unpacking struct {
	*gzip.Reader
	from io.Closer
}

// Close ends both.
func (u *unpacking) Close() error { return errors.Join(u.Reader.Close(), u.from.Close()) }
