// Package egress is the only way from a machine to the outside. Code in a machine speaks HTTP's
// proxy protocol or SOCKS5 to a relay of ours inside, which carries the bytes here; here names are
// resolved, the machine's policy is applied, and the very address that was checked is dialled.
// Whatever comes from a machine is hostile. It knows no engine.
package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

const (
	dialPatience    = 30 * time.Second
	resolvePatience = 15 * time.Second
	// ownFor is how long the addresses of this computer are believed to be the same.
	ownFor = 5 * time.Second
	// maxTried bounds how many addresses of a name are tried.
	maxTried = 8
)

// Config is what a Proxy is made of; zero fields mean this computer's.
type Config struct {
	Limits Limits
	Logger *slog.Logger // nil for none
	// Packages is the folder in which packages are kept that machines install, for all of them; ""
	// for nowhere.
	Packages string
	// Secrets are what requests of machines may carry; nil for none.
	Secrets Secrets
	// Lookup resolves a name.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that has been checked.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Interfaces tells the addresses of this computer.
	Interfaces func() ([]net.Addr, error)
	// ProxyFor tells which proxy this computer needs for an address, nil for none.
	ProxyFor func(*http.Request) (*url.URL, error)
	// Getenv reads this computer's environment.
	Getenv func(string) string
}

// Proxy carries connections. It is a machine.Network. Close it.
type Proxy struct {
	config Config
	log    *slog.Logger
	limits ledger
	http   *httpSide
	// packages is nil where none are kept.
	packages *packages
	// vault is nil where there are no secrets.
	vault *vault

	mu    sync.Mutex // guards what follows
	own   ownAddresses
	ownAt time.Time

	trusted   []byte
	trustedAt time.Time
}

var _ machine.Network = (*Proxy)(nil)

// New makes a proxy.
func New(config Config) *Proxy {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.Limits = config.Limits.withDefaults()
	p := &Proxy{config: config, log: config.Logger, limits: ledger{limits: config.Limits}}
	if config.Lookup == nil {
		p.config.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if config.Dial == nil {
		p.config.Dial = dial
	}
	if config.Interfaces == nil {
		p.config.Interfaces = net.InterfaceAddrs
	}
	if config.ProxyFor == nil {
		p.config.ProxyFor = http.ProxyFromEnvironment
	}
	if config.Getenv == nil {
		p.config.Getenv = getenv
	}
	if config.Packages != "" {
		kept, err := newPackages(p, config.Packages)
		if err == nil {
			p.packages = kept
		} else {
			p.log.Warn("packages are not kept for other machines", "err", err)
		}
	}
	if config.Secrets != nil {
		p.vault = &vault{proxy: p, secrets: config.Secrets}
	}
	p.http = newHTTPSide(p)
	return p
}

// ForgetPackages removes the packages that are kept for other machines.
func (p *Proxy) ForgetPackages() error {
	if p.packages == nil {
		return nil
	}
	return p.packages.shelf.shrinkTo(0)
}

// Close ends what is carried.
func (p *Proxy) Close() error { return p.http.close() }

func dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
}

// Carry serves one connection of a machine's, until it is over or ctx ends.
func (p *Proxy) Carry(ctx context.Context, conn net.Conn, visit machine.Visit) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	leave, ok := p.limits.enter(visit.Machine)
	if !ok {
		p.http.refuseBusy(conn)
		return
	}
	defer leave()
	v := newGuest(ctx, conn, visit)
	defer v.left()
	_ = conn.SetReadDeadline(time.Now().Add(headerPatience))
	first, err := v.in.Peek(1)
	_ = conn.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
	case first[0] == socksVersion:
		p.serveSOCKS(v)
	default:
		p.http.serve(v)
	}
}

// Upstream names the proxy that this computer itself needs for the world outside, without what it
// is to be told as a password.
func (p *Proxy) Upstream() string {
	via, err := p.config.ProxyFor(&http.Request{URL: &url.URL{Scheme: "https", Host: "example.com:443"}})
	if err != nil || via == nil {
		return ""
	}
	return via.Host
}

// refusal is why a connection does not come about.
type refusal struct {
	reason string // a sentence
	denied bool   // by a rule, not by the world outside
}

func (r *refusal) Error() string { return r.reason }

func denied(format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf(format, args...), true}
}

func failed(format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf(format, args...), false}
}

// asRefusal is err, which is a refusal or wraps one.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return failed("%s", plainly(err))
}

// open connects a machine to a target, if it may. The connection that it returns counts, and tells
// when it is closed.
func (p *Proxy) open(ctx context.Context, v *guest, host string, port int) (net.Conn, error) {
	if !p.limits.wait(ctx, v.visit.Machine) { // not on record: there may be any number of these
		return nil, denied("This machine opens connections faster than it may: %d a second. Try again, more slowly.", p.limits.limits.PerSecond)
	}
	c := v.visit.Begin(shown(host), port)
	conn, refused := p.connect(ctx, v, &c, host, port)
	if refused == nil {
		return conn, nil
	}
	now := time.Now().UTC()
	c.State, c.Reason, c.EndedAt = machine.ConnectionFailed, refused.reason, &now
	if refused.denied {
		c.State = machine.ConnectionDenied
	}
	v.visit.Tell(c)
	p.log.Debug("a connection of a machine was refused", "machine", v.visit.Machine, "port", port, "reason", refused.reason)
	return nil, refused
}

// shown is a host as records have it, however long or strange it is.
func shown(host string) string {
	clean := strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, host)
	return clean[:min(len(clean), 260)]
}

func (p *Proxy) connect(ctx context.Context, v *guest, c *machine.Connection, host string, port int) (net.Conn, *refusal) {
	if p.limits.spent(v.visit.Machine) {
		return nil, p.errVolume()
	}
	t, ok := parseTarget(host, port)
	if !ok {
		return nil, denied("%s is no host that can be reached.", shown(host))
	}
	c.Host = t.host
	route, refused := p.admit(ctx, v, c, t)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, addr, err := p.dialRoute(ctx, route, t)
	if err != nil {
		return nil, failed("%s cannot be reached: %s.", t, plainly(err))
	}
	c.State, c.Address = machine.ConnectionOpen, addr
	return newCounted(p, v, *c, conn), nil
}

func (p *Proxy) errVolume() *refusal {
	return denied("This machine has moved %d GiB today, which is as much as it may.", p.limits.limits.PerDay>>30)
}

// plainly is an error of the network's without the addresses that it is about, which the machine
// need not know.
func plainly(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "nobody answers there"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "its name is not known"
	case errors.As(err, &dns): // whose text has the addresses of this computer and of its name server
		return "this computer's name server does not answer"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// route is how a target may be reached: at these addresses, or by that proxy.
type route struct {
	addrs []netip.Addr
	via   *url.URL
}

// localNames are names of this computer, and of what tells secrets in clouds, no matter who
// resolves them.
var localNames = []string{"localhost", "localhost.localdomain", "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"}

// admit says how a machine may reach a target. A name is not even looked up before it is allowed:
// who is asked for it would hear from the machine.
func (p *Proxy) admit(ctx context.Context, v *guest, c *machine.Connection, t target) (route, *refusal) {
	rules := newRules(v.visit.Policy())
	if rules.mode == machine.NetworkOff {
		return route{}, denied("This machine has no network. The person whose computer it is can change that with: forevervm machine network.")
	}
	own, err := p.ownAddresses()
	if err != nil {
		return route{}, failed("The addresses of this computer cannot be told, so nothing can be reached: %v.", err)
	}
	if what := p.local(rules, t, own); what != "" {
		return route{}, denied("%s is %s, which machines do not reach unless it is named in their list of hosts.", t.host, what)
	}
	if refused := allow(ctx, v, c, rules, t); refused != nil {
		return route{}, refused
	}
	via, err := p.config.ProxyFor(&http.Request{URL: &url.URL{Scheme: scheme(t.port), Host: t.String()}})
	switch {
	case err != nil:
		// The error has its address, and perhaps a password.
		return route{}, failed("The proxy that this computer's settings name cannot be used: its address is none.")
	case via != nil:
		return route{via: via}, nil // it resolves names on its own
	case t.addr.IsValid():
		return route{addrs: []netip.Addr{t.addr}}, nil
	default:
		return p.resolve(ctx, rules, t, own)
	}
}

func scheme(port int) string {
	if port == 80 {
		return "http"
	}
	return "https"
}

// local says what a target is that is of this computer or around it, as far as that can be told
// without looking it up; "" for others, and for what is named by hand.
func (p *Proxy) local(rules rules, t target, own ownAddresses) string {
	switch {
	case t.addr.IsValid() && !rules.listsAddr(t.addr, t.port):
		return forbidden(t.addr, own)
	case !t.addr.IsValid() && isLocalName(t.host) && !rules.namesExactly(t):
		return "a name of your computer itself, or of what is around it"
	}
	return ""
}

// allow applies the rules of the policy.
func allow(ctx context.Context, v *guest, c *machine.Connection, rules rules, t target) *refusal {
	switch {
	case rules.lists(t), rules.mode == machine.NetworkPublic:
		return nil
	case rules.mode != machine.NetworkAsk:
		return denied("%s is not on the list of hosts that this machine may reach.", t)
	case rules.approved(t):
		return nil
	}
	c.State = machine.ConnectionAsking
	v.visit.Tell(*c)
	if why := v.visit.Ask(ctx, *c); why != "" {
		return denied("%s", why)
	}
	if v.visit.Policy().Mode == machine.NetworkOff { // changed meanwhile
		return denied("This machine has no network any more.")
	}
	return nil
}

// resolve says where a name leads, leaving out every address that may not be reached.
func (p *Proxy) resolve(ctx context.Context, rules rules, t target, own ownAddresses) (route, *refusal) {
	limited, cancel := context.WithTimeout(ctx, resolvePatience)
	defer cancel()
	addrs, err := p.config.Lookup(limited, t.host)
	if err != nil {
		return route{}, failed("The name %s cannot be resolved: %s.", t.host, plainly(err))
	}
	byHand, why := rules.namesExactly(t), ""
	var r route
	for _, addr := range addrs {
		addr = addr.Unmap()
		what := forbidden(addr, own)
		if what == "" || addr.Zone() == "" && (byHand || rules.listsAddr(addr, t.port)) {
			r.addrs = append(r.addrs, addr)
		} else {
			why = what
		}
	}
	switch {
	case len(r.addrs) > 0:
		r.addrs = r.addrs[:min(len(r.addrs), maxTried)]
		return r, nil
	case why != "":
		return r, denied("%s is %s, which machines do not reach unless it is named in their list of hosts.", t.host, why)
	default:
		return r, failed("The name %s has no address.", t.host)
	}
}

func isLocalName(host string) bool {
	for _, name := range localNames {
		if host == name {
			return true
		}
	}
	return strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local")
}

// ownAddresses are this computer's, now.
func (p *Proxy) ownAddresses() (ownAddresses, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.ownAt) < ownFor && p.own.addrs != nil {
		return p.own, nil
	}
	interfaces, err := p.config.Interfaces()
	if err != nil {
		return ownAddresses{}, err
	}
	p.own, p.ownAt = ownOf(interfaces), time.Now()
	return p.own, nil
}

// dialRoute connects, and says to which address.
func (p *Proxy) dialRoute(ctx context.Context, r route, t target) (net.Conn, string, error) {
	if r.via != nil {
		conn, err := dialVia(ctx, r.via, t)
		return conn, "", err
	}
	var last error
	for i, addr := range r.addrs {
		// The last may take the whole time; those before leave some to the others.
		one, cancel := ctx, context.CancelFunc(func() {})
		if i < len(r.addrs)-1 {
			one, cancel = context.WithTimeout(ctx, dialPatience/time.Duration(len(r.addrs)+1))
		}
		conn, err := p.config.Dial(one, netip.AddrPortFrom(addr, uint16(t.port)))
		cancel()
		if err == nil {
			return conn, addr.String(), nil
		}
		last = err
	}
	return nil, "", last
}

// dialVia asks the proxy of this computer for a tunnel.
func dialVia(ctx context.Context, via *url.URL, t target) (net.Conn, error) {
	port := cmp.Or(via.Port(), map[string]string{"http": "80", "https": "443"}[via.Scheme])
	if port == "" {
		return nil, fmt.Errorf("the proxy that this computer's settings name speaks %s, which is not supported; name one that speaks HTTP", via.Scheme)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(via.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("the proxy of this computer does not answer: %s", plainly(err))
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if via.Scheme == "https" {
		secured := tls.Client(conn, &tls.Config{ServerName: via.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secured.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, fmt.Errorf("the proxy of this computer: %w", err)
		}
		conn = secured
	}
	if conn, err = connectThrough(conn, via, t); err != nil {
		return nil, err
	}
	if !stop() {
		conn.Close()
		return nil, ctx.Err()
	}
	return conn, nil
}
