package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/wire"
)

// wailsOrigins are the pages of the desktop window, on the systems that have it.
var wailsOrigins = map[string]bool{
	"wails://wails":           true,
	"wails://wails.localhost": true,
	"http://wails.localhost":  true,
}

type callerKey struct{}

// callerOf says who has sent an authorized request.
func callerOf(r *http.Request) access.Caller {
	c, _ := r.Context().Value(callerKey{}).(access.Caller)
	return c
}

func withCaller(ctx context.Context, c access.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// tokenOf is a request's token: a bearer, or for the route of a WebSocket, whose headers a browser
// does not let a page set, a parameter. Elsewhere addresses are logged, kept and passed on.
func tokenOf(r *http.Request, route route) string {
	token := ""
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	if token == "" && route.socket && wantsSocket(r) {
		token = r.URL.Query().Get(wire.TokenParameter)
	}
	return token
}

// authorize checks the token of a request of this computer.
func (s *Server) authorize(r *http.Request, route route) (authorized *http.Request, release func(), err error) {
	caller, ok := s.config.Keys.Caller(tokenOf(r, route))
	release = func() {}
	switch {
	case !ok && caller.Name != "":
		return r, release, revoked(caller.Name)
	case !ok:
		return r, release, errUnauthorized
	case !caller.Owner && !route.tools:
		return r, release, errOwnerOnly
	}
	return r.WithContext(withCaller(r.Context(), caller)), release, nil
}

// checkHost keeps out pages that reach this port under a name of their own (DNS rebinding). Allowed
// are the loopback names, the address that the connection came in at, and the name that was asked
// to be listened on; each with or without a port.
func (s *Server) checkHost(r *http.Request) error {
	name := hostname(r.Host)
	switch {
	case name == "":
	case name == "localhost" || name == "127.0.0.1" || name == "::1":
		return nil
	case s.config.Host != "" && strings.EqualFold(name, s.config.Host):
		return nil
	case name == localIP(r):
		return nil
	}
	return errHost
}

// hostname is a Host header's host: lower case, without port and brackets; "" where it is none.
func hostname(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return ""
		}
		host = name
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return strings.ToLower(host)
}

// localIP is the address at which the connection came in, "" if unknown.
func localIP(r *http.Request) string {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return ""
	}
	return parsed.Addr().Unmap().WithZone("").String()
}

// checkOrigin lets browsers in from the daemon's own page and from the desktop window alone. The
// window's page lives at another origin and gets CORS headers. Done says that the request was a
// preflight and is answered.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	w.Header().Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return false, nil
	}
	origin := origins[0]
	if len(origins) > 1 {
		return false, errOrigin
	}
	// A browser names the page's own host in Origin and the address it talks to in Host. They are
	// the same only for a page that this daemon served.
	if strings.EqualFold(origin, "http://"+r.Host) {
		return false, nil
	}
	if !wailsOrigins[origin] {
		return false, errOrigin
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", headerInterrupted+", Content-Disposition, Content-Length")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false, nil
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, "+headerClient)
	header.Set("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// wantsSocket says whether a request asks for a WebSocket, as all browsers and clients do.
func wantsSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && hasToken(r.Header.Values("Connection"), "upgrade") &&
		hasToken(r.Header.Values("Upgrade"), "websocket") && r.Header.Get("Sec-WebSocket-Key") != "" &&
		r.Header.Get("Sec-WebSocket-Version") == "13"
}

func hasToken(values []string, token string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}
