package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/home"
)

// newFront is the one address for the browser: calls go to the daemon of a home, everything else to
// vite.
//
// Both get the browser's own Host and Origin, so the checks of each decide. They let this page in:
// the Host is a loopback name, and the Origin is that Host. The daemon proves itself to the front
// on each connection; the front, which also knows the token, proves itself to the page.
func newFront(dirs home.Dirs, vite *url.URL) http.Handler {
	calls := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			said, _ := dirs.ReadDaemon() // if there is none, the request fails below
			if at, err := url.Parse(said.URL); err == nil {
				r.SetURL(at)
			}
			r.Out.Host = r.In.Host
		},
		Transport:      handshake.Client(dirs.ReadOwnerToken, nil).Transport,
		ModifyResponse: func(resp *http.Response) error { return proveFront(dirs, resp) },
		FlushInterval:  -1, // streams arrive as they are sent
		// No daemon: the page sees what it would see without this front, a lost connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0), // streams break off with each restart
	}
	sources := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(vite)
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{DialContext: dialUntil},
	}
	mux := http.NewServeMux()
	mux.Handle("/", sources)
	for _, path := range []string{"/api/", "/v1/", "/internal/", "/health", "/open", "/mcp", "/sse", "/message"} {
		mux.Handle(path, calls)
	}
	return mux
}

// dialUntil tries until somebody answers or ctx ends: vite may still be starting.
func dialUntil(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// proveFront replaces the daemon's proof, which names the daemon's address, with one that names the
// address that the page has asked.
func proveFront(dirs home.Dirs, resp *http.Response) error {
	req := resp.Request
	nonce := req.URL.Query().Get(handshake.Parameter)
	if req.URL.Path != "/health" || resp.StatusCode != http.StatusOK || !handshake.ValidNonce(nonce) {
		return nil
	}
	var health api.Health
	err := json.NewDecoder(resp.Body).Decode(&health)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	token, err := dirs.ReadOwnerToken()
	if err != nil {
		return err
	}
	at, _ := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	health.Proof = handshake.Of(token, nonce, at)
	body, err := json.Marshal(health)
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Del("Content-Length")
	return nil
}
