package protocol

import (
	"errors"
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

// Mux is what both ends give to yamux. There is no keep-alive: a pipe's other end does not vanish
// unnoticed.
func Mux() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.AcceptBacklog = 64
	c.ConnectionWriteTimeout = 2 * time.Minute
	c.StreamOpenTimeout = 0
	c.StreamCloseTimeout = time.Minute
	c.MaxStreamWindowSize = 512 << 10 // two of carry's pieces: one is under way while the other is taken
	c.LogOutput = io.Discard
	return c
}

// Stdio makes one connection of a pair of pipes.
func Stdio(r io.ReadCloser, w io.WriteCloser) io.ReadWriteCloser { return stdio{r, w} }

type stdio struct {
	io.ReadCloser
	w io.WriteCloser
}

func (s stdio) Write(b []byte) (int, error) { return s.w.Write(b) }

func (s stdio) Close() error { return errors.Join(s.ReadCloser.Close(), s.w.Close()) }
