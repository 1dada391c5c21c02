package egress

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/secrets"
)

// Secrets are what requests of machines may carry without the machines knowing it.
type Secrets interface {
	// Of returns those that a machine may use.
	Of(machine.ID) []secrets.Secret
	// Value is what a secret stands for.
	Value(name string) (string, error)
	// Seed is what the authorities of machines are made of.
	Seed() ([]byte, error)
}

// vault puts secrets into requests. It ends the TLS of a connection to a host that gets one, by an
// authority that only the machine trusts, and speaks TLS to the host itself. Connections to other
// hosts are carried as they are.
type vault struct {
	proxy   *Proxy
	secrets Secrets

	mu          sync.Mutex
	authorities map[machine.ID]*authority
}

func newVault(p *Proxy, from Secrets) *vault {
	return &vault{proxy: p, secrets: from, authorities: map[machine.ID]*authority{}}
}

// belongings add to what a machine needs: placeholders, and whom it is to trust.
func (s *vault) belongings(id machine.ID, env map[string]string) (authorityPEM []byte) {
	theirs := s.secrets.Of(id)
	if len(theirs) == 0 {
		return nil
	}
	for _, one := range theirs {
		env[one.Name] = one.Placeholder
	}
	a, err := s.authority(id)
	if err != nil {
		s.proxy.log.Warn("a machine cannot use its secrets", "machine", id, "err", err)
		return nil
	}
	return a.pem
}

func (s *vault) authority(id machine.ID) (*authority, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.authorities[id]; a != nil {
		return a, nil
	}
	seed, err := s.secrets.Seed()
	if err != nil {
		return nil, err
	}
	a, err := newAuthority(seed, id)
	if err == nil {
		s.authorities[id] = a
	}
	return a, err
}

// tunnel carries a connection to a target, which is open. Both are closed afterwards.
func (p *Proxy) tunnel(v *guest, inside net.Conn, outside net.Conn, host string, port int) {
	t, ok := parseTarget(host, port)
	if !ok || p.vault == nil || t.port != 443 || t.addr.IsValid() {
		splice(inside, outside)
		return
	}
	var kept []secrets.Secret
	for _, one := range p.vault.secrets.Of(v.visit.Machine) {
		if one.Goes(t.host) {
			kept = append(kept, one)
		}
	}
	if len(kept) == 0 {
		splice(inside, outside)
		return
	}
	in := bufio.NewReaderSize(inside, 4<<10)
	_ = inside.SetReadDeadline(time.Now().Add(headerPatience))
	first, err := in.Peek(1)
	_ = inside.SetReadDeadline(time.Time{})
	const handshake = 22
	if err != nil || first[0] != handshake { // no TLS: no secret goes there
		splice(&early{inside, in}, outside)
		return
	}
	p.vault.serve(v, &early{inside, in}, outside, t.host, kept)
}

// carrier passes the requests of one connection on to one host.
type carrier struct {
	*vault
	guest   *guest
	host    string
	kept    []secrets.Secret
	outside atomic.Pointer[counted] // the connection that is used
}

// serve speaks to the machine in the host's name.
func (s *vault) serve(v *guest, inside, outside net.Conn, host string, kept []secrets.Secret) {
	defer inside.Close()
	defer outside.Close()
	c := &carrier{vault: s, guest: v, host: host, kept: kept}
	first, ok := outside.(*counted)
	if !ok {
		return
	}
	c.outside.Store(first)
	a, err := s.authority(v.visit.Machine)
	if err != nil {
		s.proxy.log.Warn("a machine cannot use its secrets", "machine", v.visit.Machine, "err", err)
		return
	}
	secured := tls.Server(inside, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.certificate(host) },
	})
	listener := &oneConn{conn: secured, ended: make(chan struct{})}
	server := &http.Server{
		Handler: c.passer(first), ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHeader,
		ErrorLog: s.proxy.http.server.ErrorLog,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				_ = listener.Close() // never fails
			}
		},
	}
	defer context.AfterFunc(v.ctx, func() { _ = server.Close() })()
	_ = server.Serve(listener)
}

// oneConn is a listener that has one connection.
type oneConn struct {
	conn  net.Conn
	ended chan struct{}
	took  atomic.Bool
	once  sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.took.Swap(true) {
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// passer sends requests on over the connection that is open, and over others where that has ended.
func (c *carrier) passer(first *counted) http.Handler {
	var usedFirst atomic.Bool
	transport := &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: 1 << 20, MaxConnsPerHost: 1, IdleConnTimeout: idlePatience,
		TLSHandshakeTimeout: dialPatience,
		TLSClientConfig:     &tls.Config{ServerName: c.host, RootCAs: c.proxy.roots(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if !usedFirst.Swap(true) {
				return first, nil
			}
			conn, err := c.proxy.open(ctx, c.guest, c.host, 443)
			if next, ok := conn.(*counted); ok {
				c.outside.Store(next)
			}
			return conn, err
		},
	}
	context.AfterFunc(c.guest.ctx, transport.CloseIdleConnections)
	passer := &httputil.ReverseProxy{
		Transport:     plainly1{transport},
		FlushInterval: -1,
		ErrorLog:      c.proxy.http.server.ErrorLog,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "https", c.host, c.host
			// What comes back is read: it must be whole, and not packed.
			p.Out.Header.Set("Accept-Encoding", "identity")
			p.Out.Header.Del("Range")
		},
		ModifyResponse: c.clean,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refused := asRefusal(err)
			http.Error(w, "ForeverVM: "+refused.reason, refused.status())
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := splitHostPort(r.Host, 443); err != nil || !strings.EqualFold(host, c.host) {
			http.Error(w, "ForeverVM: This connection is to "+c.host+".", http.StatusMisdirectedRequest)
			return
		}
		if err := c.fill(r); err != nil {
			http.Error(w, "ForeverVM: "+err.Error(), http.StatusBadGateway)
			return
		}
		passer.ServeHTTP(w, r)
	})
}

// plainly1 sends requests without whoever listens for what comes before an answer, or behind it:
// that would get past what is replaced in answers.
type plainly1 struct{ transport *http.Transport }

func (t plainly1) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(r.Context(), cancel)
	answer, err := t.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	plain := *answer // what follows the body is put into the other one
	plain.Trailer = nil
	return &plain, nil
}

// fill puts values where placeholders stand: where one is a whole header, or all of it but a word
// before it such as Bearer; in Basic authentication; or a whole parameter of the address.
func (c *carrier) fill(r *http.Request) error {
	values := map[string]string{}
	for _, one := range c.kept {
		if !mentions(r, one.Placeholder) {
			continue
		}
		value, err := c.secrets.Value(one.Name)
		if err != nil {
			return fmt.Errorf("the secret %s cannot be used: %w", one.Name, err)
		}
		values[one.Placeholder] = value
		if r.Header.Get("Upgrade") != "" {
			return fmt.Errorf("the secret %s cannot be used for a connection that changes its protocol, such as a WebSocket", one.Name)
		}
		c.outside.Load().carries(one.Name)
	}
	if len(values) == 0 {
		return nil
	}
	for name, list := range r.Header {
		for i, text := range list {
			list[i] = filled(text, values)
			if name == "Authorization" || name == "Proxy-Authorization" {
				list[i] = filledBasic(list[i], values)
			}
		}
	}
	pairs := strings.Split(r.URL.RawQuery, "&")
	for i, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(text); err == nil && values[plain] != "" {
			pairs[i] = name + "=" + url.QueryEscape(values[plain])
		}
	}
	r.URL.RawQuery = strings.Join(pairs, "&")
	return nil
}

// mentions says whether a request may have a placeholder where it is replaced.
func mentions(r *http.Request, placeholder string) bool {
	if strings.Contains(r.URL.RawQuery, placeholder) {
		return true
	}
	for _, list := range r.Header {
		for _, text := range list {
			if strings.Contains(text, placeholder) || strings.Contains(basic(text), placeholder) {
				return true
			}
		}
	}
	return false
}

func filled(text string, values map[string]string) string {
	if value := values[text]; value != "" {
		return value
	}
	scheme, rest, _ := strings.Cut(text, " ")
	if value := values[rest]; value != "" {
		return scheme + " " + value
	}
	return text
}

// basic is who a header of Basic authentication is from, as user:password; "" for other headers.
func basic(text string) string {
	scheme, rest, _ := strings.Cut(text, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	who, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return ""
	}
	return string(who)
}

func filledBasic(text string, values map[string]string) string {
	user, password, ok := strings.Cut(basic(text), ":")
	if !ok || values[user] == "" && values[password] == "" {
		return text
	}
	if value := values[user]; value != "" {
		user = value
	}
	if value := values[password]; value != "" {
		password = value
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// clean takes values out of an answer.
func (c *carrier) clean(answer *http.Response) error {
	var pairs []string
	for _, one := range c.kept {
		value, err := c.secrets.Value(one.Name)
		if err != nil { // then it was not sent
			continue
		}
		for _, form := range formsOf(value) {
			pairs = append(pairs, form, one.Placeholder)
		}
	}
	if len(pairs) == 0 {
		return nil
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
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return failed("%s changes the protocol, which is not possible where a secret is used.", c.host)
	}
	s := newScrubber(pairs)
	s.header(answer.Header)
	answer.Body = s.body(answer.Body)
	answer.Header.Del("Content-Length")
	answer.ContentLength = -1
	return nil
}

// unpacking is an answer that was packed.
type unpacking struct {
	*gzip.Reader
	from interface{ Close() error }
}

func (u *unpacking) Close() error { return errors.Join(u.Reader.Close(), u.from.Close()) }

// roots are whom this computer trusts; nil for what the system says.
func (p *Proxy) roots() *x509.CertPool {
	trusted := p.authorities()
	if len(trusted) == 0 {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	return roots
}
