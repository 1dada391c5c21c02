//go:build linux

package kubetest

import (
	"context"
	"io"
	"net"
)

// door is where programs reach the API server from outside of the node's network: a port of the
// loopback, whose connections are passed on to a socket file, and in the node to the server.
type door struct {
	listener net.Listener
	open     context.Context
	close    func()
}

func openDoor(socket string) (*door, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	open, end := context.WithCancel(context.Background())
	d := &door{listener: listener, open: open, close: func() { listener.Close(); end() }}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.pass(conn.(*net.TCPConn), socket)
		}
	}()
	return d, nil
}

func (d *door) address() string { return d.listener.Addr().String() }

// pass closes the connection at once where nobody listens.
func (d *door) pass(from *net.TCPConn, socket string) {
	to, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		_ = from.Close()
		return
	}
	end := func() { _, _ = from.Close(), to.Close() }
	defer end()
	defer context.AfterFunc(d.open, end)()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// An end is passed on as one. A broken connection ends the other direction, too.
		if _, err := io.Copy(to, from); err != nil || to.CloseWrite() != nil {
			end()
		}
	}()
	if _, err := io.Copy(from, to); err != nil || from.CloseWrite() != nil {
		end()
	}
	<-done
}
