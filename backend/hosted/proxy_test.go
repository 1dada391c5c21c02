//go:build linux

package hosted_test

import (
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between the computer and the service and spoils connections: it knows nothing of HTTP, as a bad network does not.
type proxy struct {
	url     string
	target  string
	address string
	group   sync.WaitGroup
	fault   atomic.Pointer[fault]
	spoilt  atomic.Int64

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]struct{}
}

// fault says what may happen to the bytes of a connection.
type fault struct {
	drop    float64 // the chance for each piece that the connection ends before it
	cut     float64 // … in the middle of it
	garbage float64 // … that it is replaced by garbage, after which the connection ends
	delay   time.Duration
	trickle bool // a few bytes at a time
}

var clear = &fault{}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target.Host, conns: map[net.Conn]struct{}{}}
	p.address = "127.0.0.1:0"
	p.listen(t)
	p.url = "http://" + p.address
	p.fault.Store(clear)
	t.Cleanup(func() {
		p.stop()
		p.group.Wait()
	})
	return p
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
	p.address, p.listener = listener.Addr().String(), listener
	p.group.Go(func() { p.accept(listener) })
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
			var both sync.WaitGroup
			both.Go(func() { p.pass(near, far) })
			both.Go(func() { p.pass(far, near) })
			both.Wait()
		})
	}
}

// pass carries one direction until it ends; then the other ends, too.
func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.carry(to, buffer[:n]) || err != nil {
			return
		}
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
