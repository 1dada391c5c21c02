// Package connect finds the user's daemon, starting it if none runs, and gives a client that keeps
// finding it: a front end goes on when the daemon was killed or replaced under it.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"golang.org/x/mod/semver"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/localsocket"
	"github.com/forevervm/desktop/backend/version"
)

// Environment variables that point a front end straight at a server, as the official programs do.
const (
	BaseURLVariable = "FOREVERVM_BASE_URL"
	TokenVariable   = "FOREVERVM_TOKEN"
)

const (
	startWithin  = 60 * time.Second // a daemon that was started must answer
	stopWithin   = 60 * time.Second // one that was asked to end must be gone: it checkpoints every machine first
	healthWithin = 2 * time.Second
	lookEvery    = 20 * time.Millisecond

	soon      = time.Minute // a daemon that ends within this time of its start may do so again
	freely    = 2           // starts in such a row that wait for nothing: somebody may have ended the daemon on purpose
	firstWait = time.Second
	lastWait  = 30 * time.Second
)

// Options are what may be said of a connection; zero fields mean the default.
type Options struct {
	Home string // overrides where the files are, as home.Resolve takes it
	// Name is the front end's, told to the daemon and shown in the history.
	Name string
	// Executable is the forevervm program that is started as the daemon; by default the one that
	// runs, or the one beside it.
	Executable string
	// Notice is told sentences for the person, such as that an older daemon is being replaced. Nil:
	// nobody is told.
	Notice func(sentence string)
}

// Daemon returns a client of the user's daemon, which answers: one that runs, or one started for
// the purpose. With FOREVERVM_BASE_URL set (and no Home given), it is a client of that server
// instead, unasked whether it answers.
func Daemon(ctx context.Context, opts Options) (*client.Client, error) {
	c, err := Lazy(opts)
	if err != nil {
		return nil, err
	}
	if _, err := c.Endpoint(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Lazy returns the same client without looking for the daemon: that happens when it is first
// needed.
func Lazy(opts Options) (*client.Client, error) {
	base := os.Getenv(BaseURLVariable)
	if base != "" && opts.Home == "" {
		token := os.Getenv(TokenVariable)
		if token == "" {
			return nil, fmt.Errorf("%s is set but %s is not: set it to the token of that server, or unset %s to use the daemon on this computer", BaseURLVariable, TokenVariable, BaseURLVariable)
		}
		return client.New(base, token, client.Options{Name: opts.Name, Version: version.Version}), nil
	}
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		return nil, err
	}
	f := &finder{dirs: dirs, opts: opts}
	return client.New("", "", client.Options{Name: opts.Name, Version: version.Version, Locate: f.locate, HTTPClient: f.proved()}), nil
}

// Running returns a client of the daemon if one runs now, else nil: nothing is started, and nothing
// is looked for later.
func Running(ctx context.Context, opts Options) (*client.Client, error) {
	if os.Getenv(BaseURLVariable) != "" && opts.Home == "" {
		return Lazy(opts)
	}
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		return nil, err
	}
	f := &finder{dirs: dirs, opts: opts}
	found, err := f.running(ctx)
	if err != nil || found == nil {
		return nil, err
	}
	at, err := f.endpoint(*found)
	if err != nil {
		return nil, err
	}
	return client.New(at.URL, at.Token, client.Options{Name: opts.Name, Version: version.Version, HTTPClient: f.proved()}), nil
}

// Stop ends the daemon if one runs, and returns when it has: its machines are saved then.
func Stop(ctx context.Context, opts Options) (ran bool, err error) {
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		return false, err
	}
	f := &finder{dirs: dirs, opts: opts}
	found, err := f.running(ctx)
	if err != nil || found == nil {
		return false, err
	}
	if err := f.retire(ctx, *found); err != nil {
		return true, err
	}
	// It is no longer found from the moment that it ends, and holds its lock until all is saved.
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	// Then it may be another's, which an open window has started at once.
	ended := func() (bool, error) {
		now, err := dirs.ReadDaemon()
		return err == nil && now.PID != found.PID || !f.lockHeld(), nil
	}
	return true, until(ctx, ended, func() error {
		return fmt.Errorf("the ForeverVM daemon (process %d) has not saved its machines after %s; wait until it has ended", found.PID, stopWithin)
	})
}

// finder finds the daemon of one home. The client calls it from one goroutine at a time.
type finder struct {
	dirs   home.Dirs
	opts   Options
	starts starts
}

// proved is an HTTP client that speaks to this home's daemon alone. Every connection has to show
// it, not only a daemon's address that was just found: the daemon may be killed, and its port taken
// by another user, between any two requests. It takes the daemon's socket where there is one: other
// users cannot use that up, as they can the port.
func (f *finder) proved() *http.Client {
	return handshake.Client(f.dirs.ReadOwnerToken, localsocket.Prefer(f.dirs.Socket))
}

// locate returns where the daemon is, which has just answered there; it starts one if none does.
func (f *finder) locate(ctx context.Context, _ *client.Endpoint) (client.Endpoint, error) {
	found, err := f.running(ctx)
	if err != nil {
		return client.Endpoint{}, err
	}
	if found != nil && older(found.Version, version.Version) {
		if found.Team { // started from here, the new one would not serve the team
			return client.Endpoint{}, fmt.Errorf("the daemon that serves a team here is version %s, and this program is version %s; restart the daemon as it was started, with `forevervm serve --listen`, and try again", found.Version, version.Version)
		}
		f.notice(fmt.Sprintf("The ForeverVM daemon that runs is version %s; it is replaced by version %s. Machines keep their state.", found.Version, version.Version))
		if err := f.retire(ctx, *found); err != nil {
			return client.Endpoint{}, err
		}
		found = nil
	}
	if found == nil {
		if found, err = f.start(ctx); err != nil {
			return client.Endpoint{}, err
		}
	}
	return f.endpoint(*found)
}

// endpoint is where a daemon is, for its owner.
func (f *finder) endpoint(d home.Daemon) (client.Endpoint, error) {
	token, err := f.dirs.ReadOwnerToken()
	if err != nil {
		return client.Endpoint{}, err
	}
	return client.Endpoint{URL: d.URL, Token: token, Owner: true, Process: fmt.Sprintf("%d/%s", d.PID, d.StartedAt.Format(time.RFC3339Nano))}, nil
}

// running returns the daemon that answers, or nil. What the file of a killed one says counts for
// nothing: a daemon that lives holds the lock.
func (f *finder) running(ctx context.Context) (*home.Daemon, error) {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	for {
		said, err := f.dirs.ReadDaemon()
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("where the ForeverVM daemon is cannot be read: %w", err)
		}
		if err := f.dirs.Make(); err != nil { // folders of another user's are not followed
			return nil, err
		}
		if !f.lockHeld() {
			return nil, nil
		}
		answering, err := f.health(ctx, said.URL)
		if err != nil || answering == "" {
			return nil, nil
		}
		// What answered may be the next daemon at the same port, which has written the file before
		// it answered.
		if now, err := f.dirs.ReadDaemon(); err == nil && now == said {
			said.Version = answering
			return &said, nil
		}
	}
}

// health returns the version of the daemon at an address.
func (f *finder) health(ctx context.Context, url string) (version string, err error) {
	probe := client.New(url, "", client.Options{HTTPClient: f.proved()})
	defer probe.Close()
	return probe.Health(ctx)
}

// retire asks a daemon to end and waits until it has.
func (f *finder) retire(ctx context.Context, d home.Daemon) error {
	at, err := f.endpoint(d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	old := client.New(at.URL, at.Token, client.Options{Name: f.opts.Name, Version: version.Version, HTTPClient: f.proved()})
	defer old.Close()
	if err := old.Shutdown(ctx); err != nil && !errors.Is(err, client.ErrDropped) {
		return fmt.Errorf("the ForeverVM daemon that runs (version %s, process %d) does not end when asked; end it yourself and try again: %w", d.Version, d.PID, err)
	}
	return until(ctx, func() (bool, error) {
		now, err := f.running(ctx)
		return now == nil || now.PID != d.PID, err
	}, func() error {
		return fmt.Errorf("the ForeverVM daemon that runs (version %s, process %d) has not ended after %s; end it yourself and try again", d.Version, d.PID, stopWithin)
	})
}

// until looks every so often whether something has come about. late makes the error for when ctx
// ends before.
func until(ctx context.Context, ok func() (bool, error), late func() error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return late()
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// older says whether version a comes before b. Builds without a version are never replaced, nor
// replace.
func older(a, b string) bool {
	a, b = canonical(a), canonical(b)
	return semver.IsValid(a) && semver.IsValid(b) && semver.Compare(a, b) < 0
}

func canonical(v string) string {
	if v != "" && v[0] != 'v' {
		v = "v" + v
	}
	return v
}

func (f *finder) notice(sentence string) {
	if f.opts.Notice != nil {
		f.opts.Notice(sentence)
	}
}
