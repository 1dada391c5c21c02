//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const (
	// maxConnections bounds the connections of a machine at one time.
	maxConnections = 64
	// wayOutPipe is how much the pipes of the way out hold, in bytes, where the system allows that.
	wayOutPipe = 256 << 10
	// lingering is how long a connection that is closed here may stay half open inside.
	lingering = 2 * time.Minute
)

// wayOut is the machine's one way to the outside: two more pipes, over which the relay inside sends
// the connections that code opens to it, multiplexed by yamux. Each is passed on to the daemon,
// which alone decides and dials. Its bytes have nothing in common with the runner's frames, so they
// delay none of them.
type wayOut struct {
	to    *gated
	from  *os.File
	r, w  *os.File // the sandbox's ends
	nonce string   // of this stay: what comes before it was begun in an earlier one
}

// newWayOut makes the pipes.
func newWayOut() (*wayOut, error) {
	var nonce [16]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	r, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, w, err := os.Pipe()
	if err != nil {
		r.Close()
		to.Close()
		return nil, err
	}
	for _, f := range []*os.File{to, from} {
		if conn, err := f.SyscallConn(); err == nil { // not by Fd, which would make it blocking
			_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wayOutPipe) })
		}
	}
	return &wayOut{to: &gated{w: to}, from: from, r: r, w: w, nonce: hex.EncodeToString(nonce[:])}, nil
}

// launched lets go of the sandbox's ends, which it has.
func (o *wayOut) launched() {
	o.r.Close()
	o.w.Close()
}

// close ends everything that goes over it.
func (o *wayOut) close() {
	o.to.w.Close()
	o.from.Close()
}

// serve passes connections on until the relay inside is gone or breaks the rules, which costs the
// machine its network until it is brought into memory again.
func (o *wayOut) serve(ctx context.Context, open func() (net.Conn, error)) {
	defer o.close()
	if _, err := io.WriteString(o.to, o.nonce); err != nil {
		return
	}
	if skipTo(o.from, o.nonce) != nil {
		return
	}
	mux := protocol.Mux()
	mux.StreamCloseTimeout = lingering
	session, err := yamux.Server(protocol.Stdio(&streamsOnly{ReadCloser: o.from}, o.to), mux)
	if err != nil {
		return
	}
	defer session.Close()
	places := make(chan struct{}, maxConnections)
	for {
		select {
		case places <- struct{}{}:
		case <-session.CloseChan():
			return
		case <-ctx.Done():
			return
		}
		inside, err := session.AcceptStream()
		if err != nil {
			return
		}
		go func() {
			// Only when the inside has let go of it, too, is it over: else closed ones without
			// number could be kept half open.
			defer func() { <-places }()
			defer inside.Close()
			if outside, err := open(); err == nil {
				iox.Join(inside, outside)
			}
			inside.Close()
			_, _ = io.Copy(io.Discard, inside)
		}()
	}
}

// skipTo reads to the end of a word.
func skipTo(r io.Reader, word string) error {
	window := make([]byte, 0, len(word)) // byte by byte behind a buffer would take what follows along
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		if len(window) == len(word) {
			window = append(window[:0], window[1:]...)
		}
		if window = append(window, b[0]); bytes.Equal(window, []byte(word)) {
			return nil
		}
	}
}

// streamsOnly lets frames of yamux's streams pass and fails at any other: the relay sends none, and
// for every ping the library keeps a goroutine until it can be answered.
type streamsOnly struct {
	io.ReadCloser
	head [12]byte // of the frame that comes
	have int      // bytes of it
	left uint32   // bytes of data that follow
}

func (s *streamsOnly) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	for b := b[:n]; len(b) > 0; {
		if s.left > 0 {
			skip := min(int(s.left), len(b))
			s.left -= uint32(skip)
			b = b[skip:]
			continue
		}
		taken := copy(s.head[s.have:], b)
		b = b[taken:]
		if s.have += taken; s.have < len(s.head) {
			continue
		}
		s.have = 0
		switch s.head[1] {
		case yamuxData:
			s.left = binary.BigEndian.Uint32(s.head[8:])
		case yamuxWindowUpdate:
		default:
			return 0, errors.New("the relay inside sends what it does not send")
		}
	}
	return n, err
}

// Types of yamux's frames.
const (
	yamuxData         = 0
	yamuxWindowUpdate = 1
)

// gated writes to a pipe that can be held still, so that a checkpoint can take what is in it.
type gated struct {
	w    *os.File
	gate sync.RWMutex
}

func (g *gated) Write(b []byte) (written int, err error) {
	for {
		n, err := g.some(b[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
	}
}

func (g *gated) some(b []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.w.Write(b)
}

func (g *gated) Close() error { return g.w.Close() }

// hold keeps everything from being written until release is called.
func (g *gated) hold() (release func()) {
	_ = g.w.SetWriteDeadline(time.Unix(1, 0))
	g.gate.Lock()
	_ = g.w.SetWriteDeadline(time.Time{})
	return g.gate.Unlock
}

// openOutside opens a stream to the daemon for one connection.
func (l *daemonLink) openOutside() (net.Conn, error) {
	stream, err := l.session.Open()
	if err != nil {
		return nil, err
	}
	if err := protocol.Write(stream, map[string]string{"type": protocol.TypeConnect}, nil); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}
