package link

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// maxConnections bounds the connections to the outside that a supervisor may bring at one time.
	maxConnections = 128
	// openPatience bounds how long a supervisor may take to say what a stream is for.
	openPatience = 30 * time.Second
	// trustPatience bounds how long a machine may take to take the authorities.
	trustPatience = 10 * time.Second
)

// takeConnections takes the streams that the supervisor opens: each is one connection of the
// machine's to the outside.
func (s *Sandbox) takeConnections() {
	places := make(chan struct{}, maxConnections)
	for {
		select {
		case places <- struct{}{}:
		case <-s.session.CloseChan():
			return
		}
		stream, err := s.session.AcceptStream()
		if err != nil {
			return
		}
		go func() {
			defer func() { <-places }()
			defer stream.Close()
			_ = stream.SetReadDeadline(time.Now().Add(openPatience))
			f, err := protocol.Read(stream)
			_ = stream.SetReadDeadline(time.Time{})
			if err == nil && f.Type == protocol.TypeConnect && s.opts.Connect != nil {
				s.opts.Connect(connection{stream})
			}
			// Over only when the other end has closed it, too: else closed ones without number
			// could be kept half open.
			stream.Close()
			_, _ = io.Copy(io.Discard, stream)
		}()
	}
}

// connection is a stream whose one direction can be ended.
type connection struct{ *yamux.Stream }

var _ net.Conn = connection{}

// CloseWrite says that nothing more follows.
func (c connection) CloseWrite() error { return c.Stream.Close() }

// trust gives the machine the authorities that it is to trust, unless it has them. One that cannot
// take them, say because its disk is full, goes on with those that it has.
func (s *Sandbox) trust(ctx context.Context, has string) error {
	if len(s.opts.Authorities) == 0 {
		return nil
	}
	sum := sha256.Sum256(s.opts.Authorities)
	digest := hex.EncodeToString(sum[:])
	if digest == has {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, trustPatience)
	defer cancel()
	_, _, _ = s.ask(limited, protocol.Request{Type: protocol.TypeTrust, Digest: digest}, s.opts.Authorities)
	return ctx.Err()
}
