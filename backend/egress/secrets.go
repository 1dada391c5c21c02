package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/secrets"
)

// Secrets are what requests of machines may carry without the machines knowing it.
type Secrets interface {
	// Of returns those that a machine of that owner may use.
	Of(id machine.ID, owner string) []secrets.Secret
	// Value is what a secret stands for. It may wait for a person to unlock the keyring.
	Value(name string) (string, error)
	// Seed is what the authority is made of. It may wait, too.
	Seed() ([]byte, error)
}

// keyringPatience is how long a machine waits for the keyring when it wakes.
const keyringPatience = 3 * time.Second

// vault puts secrets into requests. It ends the TLS of a connection to a host that gets one, by an
// authority that only machines trust, and speaks TLS to the host itself. Connections to other hosts
// are carried as they are.
type vault struct {
	proxy   *Proxy
	secrets Secrets

	mu        sync.Mutex
	authority *authority // nil until the keyring has given the seed
}

// belongings add to what a machine needs: placeholders, and whom it is to trust.
func (s *vault) belongings(id machine.ID, owner string, env map[string]string) (authorityPEM []byte) {
	theirs := s.secrets.Of(id, owner)
	if len(theirs) == 0 {
		return nil
	}
	for _, one := range theirs {
		env[one.Name] = one.Placeholder
	}
	// A keyring that is locked asks a person, and machines do not wait for that.
	loaded := make(chan *authority, 1)
	go func() { loaded <- s.loadAuthority() }()
	select {
	case a := <-loaded:
		if a == nil {
			return nil
		}
		return a.pem
	case <-time.After(keyringPatience):
		s.proxy.log.Warn("a machine cannot use its secrets until it next wakes: the keyring does not answer", "machine", id)
		return nil
	}
}

// loadAuthority returns nil where the keyring does not give the seed.
func (s *vault) loadAuthority() *authority {
	s.mu.Lock()
	a := s.authority
	s.mu.Unlock()
	if a != nil {
		return a
	}
	seed, err := s.secrets.Seed()
	if err == nil {
		a, err = newAuthority(seed)
	}
	if err != nil {
		s.proxy.log.Warn("machines cannot use their secrets", "err", err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authority = a
	return a
}

// secretsFor are those that a guest's machine may send to a host now.
func (s *vault) secretsFor(v *guest, host string) []secrets.Secret {
	return slices.DeleteFunc(s.secrets.Of(v.visit.Machine, v.visit.Owner), func(one secrets.Secret) bool { return !one.Goes(host) })
}

// tunnel carries a connection to a target, which is open. Both are closed afterwards.
func (p *Proxy) tunnel(v *guest, inside, outside net.Conn, host string, port int) {
	t, ok := parseTarget(host, port)
	first, isCounted := outside.(*counted)
	if !ok || !isCounted || p.vault == nil || t.port != 443 || t.addr.IsValid() || len(p.vault.secretsFor(v, t.host)) == 0 {
		splice(inside, outside)
		return
	}
	in := bufio.NewReaderSize(inside, 4<<10)
	_ = inside.SetReadDeadline(time.Now().Add(headerPatience))
	begin, err := in.Peek(1)
	_ = inside.SetReadDeadline(time.Time{})
	const handshake = 22
	if err != nil || begin[0] != handshake { // no TLS: no secret goes there
		splice(&early{inside, in}, outside)
		return
	}
	p.vault.serve(v, &early{inside, in}, first, t.host)
}

// serve speaks to the machine in the host's name.
func (s *vault) serve(v *guest, inside net.Conn, outside *counted, host string) {
	defer inside.Close()
	defer func() { _ = outside.Close() }()
	a := s.loadAuthority()
	if a == nil {
		return
	}
	secured := tls.Server(inside, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.certificate(host) },
	})
	listener := &oneConn{conn: secured, ended: make(chan struct{})}
	server := &http.Server{
		Handler: newCarrier(s, v, host, outside), ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHeader,
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

// Accept gives the connection once, and then waits for the end.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.took.Swap(true) {
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

// Close ends the accepting.
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}

// Addr is that of the listener, which has none.
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

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
