package main

import (
	"context"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"
)

// forwardCommand lets programs outside of the node's network reach one address in it. A socket file
// is not bound to a network, so nothing listens on a port of the computer for that.
func forwardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forward SOCKET ADDRESS",
		Short: "Pass on connections to a socket file to an address",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			_ = os.Remove(args[0]) // of a forwarder that was killed
			listener, err := net.Listen("unix", args[0])
			if err != nil {
				return err
			}
			for {
				conn, err := listener.Accept()
				if err != nil {
					return err
				}
				go forward(conn.(*net.UnixConn), args[1])
			}
		},
	}
}

// forward closes the connection at once where nobody listens at the address.
func forward(from *net.UnixConn, address string) {
	defer from.Close()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return
	}
	to := conn.(*net.TCPConn)
	defer to.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// An end is passed on as one. A broken connection ends the other direction, too.
		if _, err := io.Copy(to, from); err != nil || to.CloseWrite() != nil {
			to.Close()
		}
	}()
	if _, err := io.Copy(from, to); err != nil || from.CloseWrite() != nil {
		from.Close()
	}
	<-done
}
