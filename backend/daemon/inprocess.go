package daemon

import (
	"context"
	"net"
	"sync"
)

// insideURL is the address of requests over inProcess. The server takes this name whatever it
// listens on.
const insideURL = "http://localhost"

// inProcess is a listener for programs in this process: each connection is a pipe in memory.
type inProcess struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func listenInProcess() *inProcess {
	l := &inProcess{connections: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Dial makes a pipe, and gives its other end to Accept.
func (l *inProcess) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.connections <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l *inProcess) Accept() (net.Conn, error) {
	select {
	case conn := <-l.connections:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial; connections stay.
func (l *inProcess) Close() error {
	l.close()
	return nil
}

// Addr is where it listens, which has no name.
func (l *inProcess) Addr() net.Addr {
	conn, _ := net.Pipe()
	return conn.LocalAddr()
}
