// Package localsocket is a way to the daemon that only its own user has: a Unix socket, or on
// Windows a named pipe. Other users of the computer can neither connect to it nor use it up, as
// they can a port.
package localsocket

import (
	"context"
	"net"
	"time"
)

// within bounds how long a connection may take to be made.
const within = 2 * time.Second

// Prefer returns a dial function that takes the socket which find names for a TCP address, and the
// address itself where find returns "" or nothing answers at the socket.
func Prefer(find func(address string) string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if socket := find(address); socket != "" {
			if conn, err := Dial(ctx, socket); err == nil {
				return conn, nil
			}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}
