package server

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync"
)

// corkable hands out the connection below a WebSocket so that small messages can be sent together:
// the library sends each on its own, and a line of output is a message of its own.
type corkable struct {
	http.ResponseWriter
	conn *cork
}

// Hijack takes the connection over from the HTTP server.
func (c *corkable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c.conn = &cork{Conn: conn}
	return c.conn, bufio.NewReadWriter(buffered.Reader, bufio.NewWriter(c.conn)), nil
}

// cork is a connection that, while it is held, gathers what is written to it.
type cork struct {
	net.Conn

	mu       sync.Mutex
	holders  int
	gathered []byte
	err      error // of an earlier write: what follows would not fit to what the client has
}

// corkSize is how much is gathered at most.
const corkSize = 64 << 10

// together sends what write writes in as few pieces as possible. Several may gather at once; what
// others write meanwhile, such as the answer to a ping, goes out with the first that is done.
func (c *cork) together(write func() error) error {
	c.mu.Lock()
	c.holders++
	c.mu.Unlock()
	failed := write()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders--
	err := c.send()
	if c.holders == 0 {
		c.gathered = nil // an idle socket holds no buffer
	}
	if failed != nil {
		return failed
	}
	return err
}

// Write sends, or gathers.
func (c *cork) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.gathered = append(c.gathered, data...)
	if c.holders > 0 && len(c.gathered) < corkSize {
		return len(data), nil
	}
	if err := c.send(); err != nil {
		return 0, err
	}
	return len(data), nil
}

// send is called with mu held.
func (c *cork) send() error {
	if c.err != nil || len(c.gathered) == 0 {
		return c.err
	}
	_, err := c.Conn.Write(c.gathered)
	c.gathered = c.gathered[:0]
	if err != nil {
		c.err = errors.Join(net.ErrClosed, err)
	}
	return c.err
}
