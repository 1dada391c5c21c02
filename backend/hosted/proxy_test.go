//go:build linux && real

package hosted_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between the computer and the service and spoils connections, inside TLS, where
// nothing but the programs themselves notices. But for sending a call twice, it knows nothing of
// HTTP, as a bad network does not.
type proxy struct {
	url     string
	target  string
	address string
	own     tls.Certificate // that clients trust
	other   tls.Certificate // that they don't
	group   sync.WaitGroup
	copies  sync.WaitGroup // calls that are on their way a second time
	fault   atomic.Pointer[fault]
	spoilt  atomic.Int64
	doubled atomic.Int64

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
}

// fault says what may happen to the bytes of a connection.
type fault struct {
	drop      float64 // the chance for each piece that the connection ends before it
	cut       float64 // … in the middle of it
	garbage   float64 // … that it is replaced by garbage, after which the connection ends
	double    float64 // … that it comes twice, where that is a message of a socket or a call that has code run
	untrusted float64 // the chance for each connection that somebody else answers
	delay     time.Duration
	trickle   bool // a few bytes at a time
}

var clear = &fault{}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target.Host, conns: map[net.Conn]struct{}{}, own: certificate(t), other: certificate(t)}
	p.address = "127.0.0.1:0"
	p.fault.Store(clear)
	p.listen(t)
	p.url = "https://" + p.address
	t.Cleanup(func() {
		p.stop()
		p.copies.Wait()
		p.group.Wait()
	})
	return p
}

// certificate is one for this computer that vouches for itself.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// client trusts the proxy's own certificate alone.
func (p *proxy) client(t *testing.T) *http.Client {
	t.Helper()
	own, err := x509.ParseCertificate(p.own.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(own)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// listen lets connections come.
func (p *proxy) listen(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = listener.Addr().String()
	p.listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.certificate})
	p.group.Go(func() { p.accept(p.listener) })
}

func (p *proxy) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if rand.Float64() < p.fault.Load().untrusted {
		p.spoilt.Add(1)
		return &p.other, nil
	}
	return &p.own, nil
}

// stop lets none come, and ends those that are open.
func (p *proxy) stop() {
	p.mu.Lock()
	_ = p.listener.Close()
	p.mu.Unlock()
	p.endAll()
}

// set changes what happens to the bytes.
func (p *proxy) set(f *fault) { p.fault.Store(f) }

func (p *proxy) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *proxy) keep(conn net.Conn) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = struct{}{}
	return func() {
		_ = conn.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, conn)
	}
}

func (p *proxy) accept(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		done := p.keep(near)
		p.group.Go(func() {
			defer done()
			far, err := net.Dial("tcp", p.target)
			if err != nil {
				return
			}
			defer p.keep(far)()
			var socket atomic.Bool
			var both sync.WaitGroup
			both.Go(func() { p.pass(near, far, p.twice(&socket, true)) })
			both.Go(func() { p.pass(far, near, p.twice(&socket, false)) })
			both.Wait()
		})
	}
}

// twice returns what sends a piece of one direction another time, where it makes sense to do so.
func (p *proxy) twice(socket *atomic.Bool, up bool) func(to io.Writer, piece []byte) {
	first := true
	return func(to io.Writer, piece []byte) {
		opening := first
		first = false
		switch {
		case len(piece) == 0:
		case up && bytes.Contains(piece, []byte("\r\nUpgrade: websocket")):
			socket.Store(true)
		case p.fault.Load().double <= rand.Float64() || opening && socket.Load():
		case socket.Load():
			p.doubled.Add(1)
			_, _ = to.Write(piece)
		case up && bytes.HasPrefix(piece, []byte("POST /")) && bytes.Contains(piece, []byte("/exec HTTP/1.1\r\n")):
			p.doubled.Add(1)
			again := bytes.Clone(piece)
			p.copies.Go(func() { p.again(again) })
		}
	}
}

// again sends a call another time, as a gateway does that heard nothing, and waits for the answer.
func (p *proxy) again(call []byte) {
	conn, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer p.keep(conn)()
	if _, err := conn.Write(call); err == nil {
		_, _ = conn.Read(make([]byte, 1))
	}
}

// pass carries one direction until it ends; then the other ends, too.
func (p *proxy) pass(from, to net.Conn, twice func(io.Writer, []byte)) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.carry(to, buffer[:n]) || err != nil {
			return
		}
		twice(to, buffer[:n])
	}
}

// carry writes one piece, or spoils it; false ends the connection.
func (p *proxy) carry(to io.Writer, piece []byte) bool {
	f := p.fault.Load()
	if f.delay > 0 {
		time.Sleep(rand.N(f.delay)) // what a slow network does, which is what is tested
	}
	switch dice := rand.Float64(); {
	case dice < f.drop:
		p.spoilt.Add(1)
		return false
	case dice < f.drop+f.cut:
		p.spoilt.Add(1)
		_, _ = to.Write(piece[:rand.IntN(len(piece))])
		return false
	case dice < f.drop+f.cut+f.garbage:
		p.spoilt.Add(1)
		garbage := make([]byte, len(piece))
		for i := range garbage {
			garbage[i] = byte(rand.Uint32())
		}
		_, _ = to.Write(garbage)
		return false
	}
	for step := len(piece); len(piece) > 0; piece = piece[min(step, len(piece)):] {
		if f.trickle {
			step = 7
		}
		if _, err := to.Write(piece[:min(step, len(piece))]); err != nil {
			return false
		}
	}
	return true
}
