// Package hosted puts the machines of a hosted ForeverVM account beside those of this computer. It
// wraps the domain's service: a machine's name decides who is asked, the domain knows nothing of
// it, and nothing that the service does or fails to do holds up a machine here.
//
// A hosted machine is the service's. What is kept of it here, in a database for each account, is a
// record of the instructions that went through this computer, under the numbers that the service
// gave them; those that ran elsewhere are missing from it.
package hosted

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/credentials"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/service"
	"github.com/forevervm/desktop/backend/systemproxy"
	"github.com/forevervm/desktop/backend/wire"
)

// Name is the engine of hosted machines, as people see it.
const Name = "hosted"

// Records keep what went through this computer.
type Records interface {
	machine.Store
	Close() error
}

// Config is what Machines are made of.
type Config struct {
	Local       *service.Service // the caller closes it, later
	Credentials *credentials.Store
	// Open opens the records of one account.
	Open   func(ctx context.Context, path string) (Records, error)
	Folder string // where they lie; Machines make and own it
	// Token is the token of this computer itself, with which nobody may sign in: it would be its
	// own service.
	Token string
	// Preferred says whether new machines are made by the service where nobody names an engine.
	Preferred func() bool
	Version   string
	Logger    *slog.Logger
}

// Machines are those of this computer and of the account that is signed in. It implements
// server.Machines and server.Hosted. All methods may be called from any goroutine.
type Machines struct {
	*service.Service
	config Config
	http   *http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	group  sync.WaitGroup

	tried    chan struct{} // closed when it is known who was signed in, or why that is not known yet
	hasTried func()        // closes it

	changing sync.Mutex // held while somebody signs in or out, longer than mu

	mu      sync.Mutex // guards what follows
	session *session   // nil while nobody is signed in
	problem string     // why nobody is, though somebody should be; a sentence
}

// New returns the machines; anyone who was signed in last is signed in again in the background.
func New(ctx context.Context, config Config) *Machines {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = systemproxy.For
	transport.OnProxyConnectResponse = client.Proxied
	transport.MaxIdleConnsPerHost = 32
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second} // a connection that died is noticed
	m := &Machines{Service: config.Local, config: config, http: &http.Client{Transport: transport}, tried: make(chan struct{})}
	m.hasTried = sync.OnceFunc(func() { close(m.tried) })
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.group.Go(m.begin)
	return m
}

// Close ends everything that goes on with the service. What runs there goes on.
func (m *Machines) Close() error {
	m.cancel()
	m.group.Wait()
	m.changing.Lock()
	defer m.changing.Unlock()
	err := m.leave()
	m.http.CloseIdleConnections()
	return err
}

// begin signs in anyone who was signed in.
func (m *Machines) begin() {
	m.changing.Lock()
	defer m.changing.Unlock()
	defer m.hasTried()
	account, secret, err := m.config.Credentials.Current()
	if err == nil && secret.Equal(m.config.Token) { // the environment points programs at this very computer
		return
	}
	for wait := time.Second; err == nil && account.Name == ""; wait = min(2*wait, time.Minute) { // the environment does not say whose token it is
		var who string
		if who, err = m.whoami(m.ctx, account.Server, secret); err == nil {
			account.Name = who
		} else if errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrDropped) || errors.Is(err, client.ErrServer) {
			m.setProblem(words(err))
			if pause(m.ctx, wait) != nil {
				return
			}
			err = nil
		}
	}
	if err == nil {
		err = m.enter(account, secret)
	}
	if err != nil && err != credentials.ErrSignedOut && m.ctx.Err() == nil { //nolint:errorlint // wrapped, it has more to say
		m.config.Logger.Warn("nobody is signed in at the hosted service", "err", err)
		m.setProblem(words(err))
	}
}

func (m *Machines) setProblem(sentence string) {
	m.mu.Lock()
	changed := m.problem != sentence
	m.problem = sentence
	m.mu.Unlock()
	m.hasTried()
	if changed {
		m.announceStatus()
	}
}

// current is the session, or nil.
func (m *Machines) current() *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.session
}

// keyringPatience is how long a question waits for the keyring to say who was signed in: it answers
// at once, or asks somebody for a password first.
const keyringPatience = 3 * time.Second

// signedIn is the session, or nil; soon after the start it waits until that is known.
func (m *Machines) signedIn(ctx context.Context) *session {
	select {
	case <-m.tried:
	case <-ctx.Done():
	case <-time.After(keyringPatience):
	}
	return m.current()
}

// enter begins a session in place of the last. changing is held.
func (m *Machines) enter(account credentials.Account, secret credentials.Secret) error {
	if err := m.leave(); err != nil {
		m.config.Logger.Warn("the records of an account ended badly", "err", err)
	}
	s, err := m.newSession(account, secret)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.session, m.problem = s, ""
	m.mu.Unlock()
	s.begin()
	m.announceStatus()
	return nil
}

// leave ends the session, if there is one. changing is held.
func (m *Machines) leave() error {
	m.mu.Lock()
	s := m.session
	m.session, m.problem = nil, ""
	m.mu.Unlock()
	if s == nil {
		return nil
	}
	err := s.close()
	if m.ctx.Err() == nil {
		for _, r := range s.remotes() {
			was := r.Machine()
			m.Announce(machine.Event{Type: machine.EventPurged, Machine: &machine.Machine{ID: was.ID, Name: was.Name}})
		}
		m.announceStatus()
	}
	return err
}

func (m *Machines) announceStatus() {
	st := m.Status(m.ctx)
	m.Announce(machine.Event{Type: machine.EventStatus, Status: &st})
}

func (m *Machines) client(server string, secret credentials.Secret) *client.Client {
	return client.New(server, secret.Reveal(), client.Options{Name: "ForeverVM Desktop", Version: m.config.Version, HTTPClient: m.http})
}

// maxAccount bounds what a service may call an account.
const maxAccount = 100

func (m *Machines) whoami(ctx context.Context, server string, secret credentials.Secret) (string, error) {
	who, err := m.client(server, secret).Wire().Whoami(ctx)
	if err != nil {
		return "", err
	}
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(who.Account, ""))
	if name == "" || len(name) > maxAccount {
		return "", fmt.Errorf("%w: it does not say whose account this is", client.ErrServer)
	}
	return name, nil
}

// Hosted says who is signed in.
func (m *Machines) Hosted() api.Hosted {
	m.signedIn(m.ctx)
	out := api.Hosted{Server: credentials.DefaultServer, FromEnvironment: m.config.Credentials.FromEnvironment(), Accounts: []api.HostedAccount{}}
	accounts, current, err := m.config.Credentials.Accounts()
	if err != nil {
		out.Problem = words(err)
	}
	for _, a := range accounts {
		out.Accounts = append(out.Accounts, api.HostedAccount{Server: a.Server, Account: a.Name})
	}
	if current != nil {
		out.Server = current.Server
	}
	m.mu.Lock()
	s, problem := m.session, m.problem
	m.mu.Unlock()
	if problem != "" {
		out.Problem = problem
	}
	if s != nil {
		out.SignedIn, out.Server, out.Account, out.Token = true, s.account.Server, s.account.Name, s.secret.Mask()
		out.Problem = s.trouble()
	}
	found, err := credentials.FindOfficial()
	switch {
	case err != nil:
		m.config.Logger.Debug("the official command line's token is not offered", "err", err)
	case found != nil:
		out.Official = &api.HostedOfficial{Path: found.Path, Server: found.Server, Token: found.Secret.Mask()}
	}
	return out
}

// SignIn signs in with a token, which is kept in the keyring; its account is used from now on.
func (m *Machines) SignIn(ctx context.Context, in api.HostedLogin) (api.Hosted, error) {
	if err := m.config.Credentials.Changeable(); err != nil {
		return api.Hosted{}, conflict(err)
	}
	address, err := credentials.Server(in.Server)
	if err != nil {
		return api.Hosted{}, invalid(err)
	}
	var secret credentials.Secret
	if in.Official {
		found, err := credentials.FindOfficial()
		if err != nil {
			return api.Hosted{}, invalid(err)
		}
		if found == nil {
			return api.Hosted{}, &machine.Error{Kind: machine.ErrNotFound, Message: "The official command line has kept no token on this computer."}
		}
		address, secret = found.Server, found.Secret
	} else if secret, err = credentials.Parse(in.Token); err != nil {
		return api.Hosted{}, invalid(err)
	}
	if secret.Equal(m.config.Token) {
		return api.Hosted{}, invalid(errors.New("this is the token of ForeverVM on this computer, not of a hosted account"))
	}
	name, err := m.whoami(ctx, address, secret)
	if errors.Is(err, client.ErrUnauthorized) {
		return api.Hosted{}, &machine.Error{Kind: machine.ErrInvalid, Message: address + " does not accept this token. Copy it again, as a whole, as you were given it.", Cause: err}
	}
	if err != nil {
		return api.Hosted{}, explain(err)
	}
	account := credentials.Account{Server: address, Name: name}
	m.changing.Lock()
	defer m.changing.Unlock()
	if err := m.config.Credentials.Keep(account, secret); err != nil {
		return api.Hosted{}, unavailable(err)
	}
	if err := m.enter(account, secret); err != nil {
		return api.Hosted{}, unavailable(err)
	}
	m.config.Logger.Info("signed in", "account", account.String(), "token", secret)
	return m.Hosted(), nil
}

// UseAccount signs in with an account whose token is kept, also where that failed before, say
// because the keyring was locked.
func (m *Machines) UseAccount(_ context.Context, in api.HostedAccount) (api.Hosted, error) {
	if err := m.config.Credentials.Changeable(); err != nil {
		return api.Hosted{}, conflict(err)
	}
	m.changing.Lock()
	defer m.changing.Unlock()
	if err := m.config.Credentials.Use(credentials.Account{Server: in.Server, Name: in.Account}); err != nil {
		return api.Hosted{}, unavailable(err)
	}
	account, secret, err := m.config.Credentials.Current()
	if err == nil {
		err = m.enter(account, secret)
	}
	if err != nil {
		return api.Hosted{}, unavailable(err)
	}
	return m.Hosted(), nil
}

// SignOut removes the token of the account that is used, and its machines from the list. They go on
// at the service.
func (m *Machines) SignOut(context.Context) (api.Hosted, error) {
	if err := m.config.Credentials.Changeable(); err != nil {
		return api.Hosted{}, conflict(err)
	}
	m.changing.Lock()
	defer m.changing.Unlock()
	_, current, err := m.config.Credentials.Accounts()
	if err == nil && current == nil {
		return api.Hosted{}, conflict(errors.New("nobody is signed in at the hosted service"))
	}
	if err == nil {
		err = m.config.Credentials.Forget(*current)
	}
	if err != nil {
		return api.Hosted{}, unavailable(err)
	}
	if err := m.leave(); err != nil {
		m.config.Logger.Warn("the records of an account ended badly", "err", err)
	}
	return m.Hosted(), nil
}

// SignUp asks a service for an account. It sends the token by e-mail.
func (m *Machines) SignUp(ctx context.Context, in api.HostedSignup) error {
	address, err := credentials.Server(in.Server)
	if err != nil {
		return invalid(err)
	}
	in.Email, in.Account = strings.TrimSpace(in.Email), strings.TrimSpace(in.Account)
	if err := credentials.CheckSignup(in.Email, in.Account); err != nil {
		return invalid(err)
	}
	err = m.client(address, credentials.Secret{}).Wire().Signup(ctx, wire.Signup{Email: in.Email, AccountName: in.Account})
	var said *client.Error
	if errors.As(err, &said) {
		switch said.Code {
		case "AccountNameAlreadyExists":
			return &machine.Error{Kind: machine.ErrNameTaken, Message: "Somebody has an account of that name already. Choose another name.", Cause: err}
		case "EmailAlreadyExists":
			return &machine.Error{Kind: machine.ErrConflict, Message: "There is an account for this e-mail address already. Its token came by e-mail: sign in with that.", Cause: err}
		}
	}
	if err != nil {
		return explain(err)
	}
	return nil
}

// RemoveOfficial removes the official command line's file with the token, once that token is in the
// keyring.
func (m *Machines) RemoveOfficial(context.Context) error {
	found, err := credentials.FindOfficial()
	if err != nil {
		return invalid(err)
	}
	if found == nil {
		return nil
	}
	if s := m.current(); s == nil || !s.secret.Equal(found.Secret.Reveal()) {
		return &machine.Error{Kind: machine.ErrConflict, Message: "The token in " + found.Path + " is not the one that you are signed in with, so the file stays: it may be the only copy. Sign in with it first."}
	}
	if err := found.Remove(); err != nil {
		return unavailable(err)
	}
	return nil
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
