package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	headerPatience = time.Minute
	idlePatience   = 2 * time.Minute
	maxHeader      = 64 << 10
)

// httpSide speaks HTTP's proxy protocol: tunnels, and requests for http addresses that are passed
// on.
type httpSide struct {
	proxy  *Proxy
	server *http.Server
	guests chan net.Conn
	ended  chan struct{}
	once   sync.Once
	served chan struct{}
}

type guestKey struct{}

func newHTTPSide(p *Proxy) *httpSide {
	h := &httpSide{proxy: p, guests: make(chan net.Conn), ended: make(chan struct{}), served: make(chan struct{})}
	h.server = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerPatience,
		IdleTimeout:       idlePatience,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what a machine sends wrongly is its own affair
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, guestKey{}, c) },
	}
	go func() {
		defer close(h.served)
		_ = h.server.Serve(h)
	}()
	return h
}

// Accept gives the server the next guest.
func (h *httpSide) Accept() (net.Conn, error) {
	select {
	case c := <-h.guests:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the accepting.
func (h *httpSide) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// Addr is that of the listener, which has none.
func (h *httpSide) Addr() net.Addr { return &net.TCPAddr{} }

func (h *httpSide) close() error {
	err := h.server.Close()
	<-h.served
	return err
}

// serve hands a guest to the server, and returns when it is closed.
func (h *httpSide) serve(v *guest) {
	select {
	case h.guests <- v:
	case <-h.ended:
		return
	case <-v.ctx.Done():
		return
	}
	select {
	case <-v.closed:
	case <-v.ctx.Done():
	}
}

// refuseBusy answers a connection that is one too many.
func (h *httpSide) refuseBusy(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	writeRefusal(conn, denied("This machine has as many connections open as it may: %d. Close some, and try again.", h.proxy.limits.limits.AtOnce))
}

// ServeHTTP does what a program in a machine asks of its proxy.
func (h *httpSide) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, ok := r.Context().Value(guestKey{}).(*guest)
	switch {
	case !ok:
		panic("egress: a request from nobody")
	case r.Method == http.MethodConnect:
		h.tunnel(w, r, v)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		h.pass(w, r, v)
	case r.URL.Host == "" && h.proxy.packages != nil && strings.HasPrefix(r.URL.Path, "/pypi/"):
		h.proxy.packages.serve(w, r, v)
	default:
		http.Error(w, "This is ForeverVM's proxy to the network. It answers requests for http:// addresses, and CONNECT.", http.StatusBadRequest)
	}
}

// tunnel connects, and carries whatever comes.
func (h *httpSide) tunnel(w http.ResponseWriter, r *http.Request, v *guest) {
	host, port, err := splitHostPort(r.Host, 443)
	var outside net.Conn
	if err == nil {
		outside, err = h.proxy.open(r.Context(), v, host, port)
	}
	inside, in, hijackErr := w.(http.Hijacker).Hijack()
	if hijackErr != nil {
		if outside != nil {
			outside.Close()
		}
		panic(http.ErrAbortHandler)
	}
	defer inside.Close()
	if err != nil {
		writeRefusal(inside, asRefusal(err))
		return
	}
	defer outside.Close()
	if _, err := io.WriteString(inside, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	h.proxy.tunnel(v, &early{inside, in.Reader}, outside, host, port)
}

// early is a connection that has been read from already.
type early struct {
	net.Conn
	in *bufio.Reader
}

func (e *early) Read(b []byte) (int, error) {
	if e.in.Buffered() > 0 {
		return e.in.Read(b)
	}
	return e.Conn.Read(b)
}

func (e *early) CloseWrite() error { return closeWrite(e.Conn) }

// pass sends a request on, and its answer back. Each goes over a connection of its own: none is
// kept that another policy, or another machine, could be given.
func (h *httpSide) pass(w http.ResponseWriter, r *http.Request, v *guest) {
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 1 << 20,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, port, err := splitHostPort(addr, 80)
			if err != nil {
				return nil, err
			}
			return h.proxy.open(ctx, v, host, port)
		},
	}
	defer transport.CloseIdleConnections()
	passer := httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      h.server.ErrorLog,
		Rewrite: func(p *httputil.ProxyRequest) {
			// Where it goes is what was checked: no header says otherwise.
			p.Out.Host = p.Out.URL.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			refused := asRefusal(err)
			http.Error(w, "ForeverVM: "+refused.reason, refused.status())
		},
	}
	passer.ServeHTTP(w, r)
}

func (r *refusal) status() int {
	if r.denied {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// writeRefusal answers a CONNECT. Programs show the person no more than the first line of such an
// answer, so the reason is there, too.
func writeRefusal(w io.Writer, r *refusal) {
	line := strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f {
			return ' '
		}
		return c
	}, r.reason)
	body := "ForeverVM: " + r.reason + "\n"
	_, _ = fmt.Fprintf(w, "HTTP/1.1 %d ForeverVM: %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		r.status(), line, len(body), body)
}

// splitHostPort reads what a program asks for; without a port it means standard.
func splitHostPort(text string, standard int) (string, int, error) {
	if len(text) > 300 {
		return "", 0, denied("The name of the host is too long.")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if strings.Contains(text, ":") && !strings.HasSuffix(text, "]") {
			return "", 0, denied("%s is no host that can be reached.", shown(text))
		}
		return text, standard, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", 0, denied("%s is no port.", shown(port))
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host, int(n), nil
}

// connectThrough asks a proxy that conn leads to for a tunnel.
func connectThrough(conn net.Conn, via *url.URL, t target) (net.Conn, error) {
	request := "CONNECT " + t.String() + " HTTP/1.1\r\nHost: " + t.String() + "\r\n"
	if via.User != nil {
		password, _ := via.User.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(via.User.Username()+":"+password)) + "\r\n"
	}
	fail := func(err error) (net.Conn, error) {
		conn.Close()
		return nil, err
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return fail(err)
	}
	in := bufio.NewReader(io.LimitReader(conn, maxHeader))
	answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return fail(errors.New("the proxy of this computer does not answer as a proxy does"))
	}
	answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fail(fmt.Errorf("the proxy of this computer refuses it: %d", answer.StatusCode))
	}
	return &early{conn, in}, nil
}
