// Package server is the daemon's HTTP side: the ForeverVM wire that the public SDKs speak (/v1),
// our own API (/api, described by api/openapi.yaml), the MCP endpoints and the page. It knows
// machines only through Machines.
package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/parcel"
)

// Config says what a Server serves.
type Config struct {
	Machines Machines
	Apps     Apps // nil where nothing is known of AI apps
	Hosted   Hosted
	Settings Settings
	Updates  Updates
	Backups  Backups
	Storage  Storage
	Moves    Moves
	Moving   bool // the files are on their way: Moves and the page are all that there is
	Parcels  *parcel.Desk
	Token    string         // the owner's, id.secret; every request but those for /health and the page's files carries one
	Keys     *access.Keys   // who shows a token; nil: the owner's opens all, and there is no other
	People   *access.People // who comes over the network; nil: nobody
	Record   *audit.Log     // what crosses the line; nil for none
	Secrets  Secrets
	Places   Places
	Account  string // what /v1/whoami answers
	Version  string
	Home     string       // where the files are, for /api/status
	Folder   string       // the person's folder for files, for /api/status; "" for none
	MCP      http.Handler // at /mcp, /sse and /message; nil for none
	Page     fs.FS        // index.html at its top; nil for none
	URL      string       // the daemon's address, as this computer reaches it
	Host     string       // the name or address that was asked to be listened on, beside the loopback ones; may be ""
	Logger   *slog.Logger
	Shutdown func() // called for /api/shutdown, must not block
	// Open shows a folder of this computer to the person at it.
	Open func(ctx context.Context, path string) error
}

// Server answers HTTP requests. Make it with New.
type Server struct {
	config  Config
	mux     *http.ServeMux
	team    *http.ServeMux // behind the door of people
	codes   openCodes
	drops   drops
	page    *page
	sockets sync.WaitGroup // what http.Server does not wait for: handlers of WebSockets, files in pieces
}

// New makes a server.
func New(config Config) *Server {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Keys == nil {
		config.Keys = access.ForOwner(config.Token)
	}
	if config.People == nil {
		config.People = access.Nobody()
	}
	s := &Server{config: config, mux: http.NewServeMux(), team: http.NewServeMux()}
	if config.Page != nil {
		s.page = newPage(config.Page)
	}
	go descriptions() // read while nobody waits for them
	routes := s.routes
	if config.Moving {
		routes = s.routesMeanwhile
	}
	for _, route := range routes() {
		s.mux.Handle(route.pattern, s.handler(route, s.authorize))
	}
	for _, route := range s.teamRoutes() {
		s.team.Handle(route.pattern, s.handler(route, s.admit))
	}
	return s
}

// How long requests that are under way may take to end once Serve is told to stop.
const goodbye = 2 * time.Second

// What someone without the token may send: that much of a body, and all of the request within that
// time.
const (
	strangerBody   = 1 << 10
	strangerWithin = 10 * time.Second
)

// Serve answers requests on the listeners, and those of people on the one for the team (nil for
// none), until ctx ends; waiting calls and open sockets then end too, and it returns once all have.
// The listeners are closed.
func (s *Server) Serve(ctx context.Context, team net.Listener, listeners ...net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stopped, served errgroup.Group
	door := func(answer http.HandlerFunc, listeners ...net.Listener) {
		httpServer := s.httpServer(ctx, answer)
		stopped.Go(func() error {
			<-ctx.Done()
			patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
			defer cancel()
			if httpServer.Shutdown(patience) != nil {
				_ = httpServer.Close()
			}
			return nil
		})
		for _, listener := range listeners {
			served.Go(func() error {
				defer cancel() // one alone would look like a daemon that answers
				if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					return err
				}
				return nil
			})
		}
	}
	door(s.ServeHTTP, listeners...)
	if team != nil {
		door(s.serveTeam, team)
	}
	err := served.Wait()
	cancel()
	_ = stopped.Wait() // it never fails
	s.drops.abandon()
	s.sockets.Wait()
	return err
}

// httpServer answers requests until ctx ends. Its guests are its own: those of the network cannot
// crowd out this computer's.
func (s *Server) httpServer(ctx context.Context, answer http.HandlerFunc) *http.Server {
	var all guests
	return &http.Server{
		Handler:        answer,
		ReadTimeout:    strangerWithin, // lifted where the token was right
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    all.with,
		ConnState:      all.changed,
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	out := &response{ResponseWriter: w}
	defer s.finish(out, r, started)
	header := out.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	if err := s.checkHost(r); err != nil {
		s.fail(out, r, err)
		return
	}
	done, err := s.checkOrigin(out, r)
	if err != nil {
		s.fail(out, r, err)
		return
	}
	if done {
		return
	}
	s.mux.ServeHTTP(out, withoutDoubleSlash(r))
}

// withoutDoubleSlash mends the paths of clients that add "/v1/…" to a base URL which ends in a
// slash; the mux would redirect them, and not every client follows with its body.
func withoutDoubleSlash(r *http.Request) *http.Request {
	if !strings.HasPrefix(r.URL.Path, "//") {
		return r
	}
	mended := *r
	address := *r.URL
	address.Path = "/" + strings.TrimLeft(address.Path, "/")
	if address.RawPath != "" {
		address.RawPath = "/" + strings.TrimLeft(address.RawPath, "/")
	}
	mended.URL = &address
	return &mended
}

// handler wraps a route with what all have in common: the token, and errors that become responses.
// What authorize gives is released once the request is answered.
func (s *Server) handler(route route, authorize func(*http.Request, route) (*http.Request, func(), error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route.open {
			if !route.file {
				r.Body = http.MaxBytesReader(w, r.Body, strangerBody)
			}
		} else {
			authorized, release, err := authorize(r, route)
			defer release()
			if err != nil {
				s.fail(w, r, err)
				return
			}
			r = authorized
			known(r)
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer without connection has no deadline either
		}
		err := checkQuery(r)
		if err == nil {
			err = s.answer(route, w, r)
		}
		if err != nil {
			if !route.open {
				drain(w, r)
			}
			s.fail(w, r, err)
		}
	})
}

// answer calls a route's handler, with the machine that the path names.
func (s *Server) answer(route route, w http.ResponseWriter, r *http.Request) error {
	if route.machine == nil {
		return route.handle(w, r)
	}
	m, err := s.machinesOf(r).Find(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return route.machine(w, r, m)
}

// What of a refused request's body is read: that much, for that long.
const (
	drainMost   = 4 << 30
	drainWithin = 30 * time.Second
)

// drain reads what is left of the body. Programs that send all of it before they read the answer
// would otherwise be told of a reset connection, and not why they were refused. Those that wait to
// be asked for the body (Expect: 100-continue) are not asked.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(drainWithin))
	_, _ = io.CopyN(io.Discard, r.Body, drainMost)
	_ = control.SetReadDeadline(time.Time{})
}

// finish logs a request, never its query, which may hold a token, and turns a panic of its handler
// into an answer.
func (s *Server) finish(w *response, r *http.Request, started time.Time) {
	problem := recover()
	if problem != nil && problem != http.ErrAbortHandler { //nolint:errorlint // panicked with this very value
		s.config.Logger.Error("a request's handler panicked", "method", r.Method, "path", r.URL.Path, "panic", problem, "stack", string(debug.Stack()))
		if w.status == 0 {
			s.fail(w, r, errPanic)
			problem = nil
		}
	}
	s.config.Logger.Debug("request", "method", r.Method, "path", r.URL.Path, "status", w.status, "took", time.Since(started), "client", clientOf(r).Name)
	if problem != nil {
		panic(http.ErrAbortHandler)
	}
}

// response remembers the status, so that it is known whether an error can still be told.
type response struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the status.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write remembers that there is a body.
func (w *response) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController and the WebSocket library reach what they need.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush serves libraries that ask for http.Flusher rather than for a ResponseController.
func (w *response) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// pid is this process, for /api/status.
var pid = os.Getpid()
