package server

import (
	"context"
	"net/http"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
)

// People of a team come over the network, by a door of their own. Behind it there are the routes
// that say `people`, for which only their tokens count, and nothing else: no token of the daemon's
// user opens anything there, and theirs open nothing at the other door. What a route gives them of
// machines goes through ownMachines, which knows of theirs alone.

var (
	errNotInTeam = &failure{
		http.StatusUnauthorized, "Unauthorized",
		"The token is missing, wrong, or was ended. Ask the administrator of this ForeverVM for a new one.",
	}
	errNoPages = &failure{
		http.StatusForbidden, "ForbiddenOrigin",
		"A web page tried to use ForeverVM, which only programs may do here.",
	}
	errAskForAccount = &failure{
		http.StatusBadRequest, "NoAccountsHere",
		"Nobody signs up at this ForeverVM. Ask its administrator for a token, and sign in with that.",
	}
)

// teamRoutes are all calls of people.
func (s *Server) teamRoutes() []route {
	routes := []route{
		{pattern: "GET /health", handle: s.teamHealth, open: true},
		{pattern: "POST /internal/signup", handle: func(http.ResponseWriter, *http.Request) error { return errAskForAccount }, open: true},
		{pattern: "/v1/", handle: noSuchCall},
		{pattern: "/", handle: func(w http.ResponseWriter, r *http.Request) error {
			// As the hosted service does, without words: a client understands that there is the
			// wire alone.
			http.NotFound(w, r)
			return nil
		}, open: true},
	}
	for _, route := range s.routes() {
		if route.people {
			routes = append(routes, route)
		}
	}
	return routes
}

// teamHealth proves nothing: the proof is for programs of the daemon's user.
func (s *Server) teamHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, api.Health{Status: "ok", Version: s.config.Version})
}

// serveTeam answers one request of the network. It takes any Host: who speaks TLS with the daemon
// knows it by its certificate, so that no page reaches it under a name of its own. A page has no
// business here under any name.
func (s *Server) serveTeam(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	out := &response{ResponseWriter: w}
	defer s.finish(out, r, started)
	out.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Header.Values("Origin") != nil {
		s.fail(out, r, errNoPages)
		return
	}
	s.team.ServeHTTP(out, withoutDoubleSlash(r))
}

// admit checks a person's token. The request ends with it.
func (s *Server) admit(r *http.Request, route route) (admitted *http.Request, release func(), err error) {
	caller, ok := s.config.People.Caller(tokenOf(r, route))
	if !ok {
		return r, func() {}, errNotInTeam
	}
	ctx, cancel := context.WithCancel(withCaller(r.Context(), caller))
	stop := context.AfterFunc(caller.Until, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }, nil
}

// ownMachines are the machines that a caller may know of. The daemon's user knows all. Somebody of
// a team knows theirs, and AI apps and programs those of the daemon's user. Others are as if there
// were none.
type ownMachines struct {
	all    Machines
	caller access.Caller
}

func (s *Server) machinesOf(r *http.Request) ownMachines {
	return ownMachines{s.config.Machines, callerOf(r)}
}

// Find is Machines.Find.
func (o ownMachines) Find(ctx context.Context, name string) (machine.Handle, error) {
	found, err := o.all.Find(ctx, name)
	if err == nil && !o.caller.Owner && found.Machine().Owner != o.caller.Person {
		return nil, machine.NoMachine(name)
	}
	return found, err
}

// List is Machines.List.
func (o ownMachines) List(ctx context.Context, f machine.Filter) (machine.Page[machine.Machine], error) {
	if !o.caller.Owner {
		f.Owner = &o.caller.Person
	}
	return o.all.List(ctx, f)
}

// Create is Machines.Create. The machine is the caller's.
func (o ownMachines) Create(ctx context.Context, opts machine.CreateOptions) (machine.Machine, error) {
	opts.Owner = o.caller.Person
	return o.all.Create(ctx, opts)
}
