package egress

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/forevervm/desktop/backend/iox"
	"github.com/forevervm/desktop/backend/machine"
)

// guest is a connection from inside a machine.
type guest struct {
	net.Conn
	ctx   context.Context
	in    *bufio.Reader // what has been looked at already comes from here first
	visit machine.Visit

	once   sync.Once
	closed chan struct{}

	indexOnce sync.Once
	index     *http.Client // asks the index of packages for it; nil until something is asked
}

func newGuest(ctx context.Context, conn net.Conn, visit machine.Visit) *guest {
	return &guest{Conn: conn, ctx: ctx, in: bufio.NewReaderSize(conn, 4<<10), visit: visit, closed: make(chan struct{})}
}

func (g *guest) Read(b []byte) (int, error) {
	if g.in.Buffered() > 0 {
		return g.in.Read(b)
	}
	return g.Conn.Read(b)
}

// Close ends the connection.
func (g *guest) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Conn.Close()
}

// left lets go of what was kept open for it.
func (g *guest) left() {
	g.indexOnce.Do(func() {})
	if g.index != nil {
		g.index.CloseIdleConnections()
	}
}

// CloseWrite says that nothing more follows, where the connection can say that.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

// counted is a connection to the outside whose bytes count.
type counted struct {
	net.Conn
	proxy *Proxy
	visit machine.Visit

	sent, received atomic.Int64
	cut            atomic.Pointer[refusal] // why it was ended
	told           atomic.Int64            // when, in Unix nanoseconds
	tell           sync.Mutex              // one after another, and none after the last
	record         machine.Connection
	over           bool
}

// tellEvery is how often it is told how far a connection has come.
const tellEvery = time.Second

func newCounted(p *Proxy, v *guest, record machine.Connection, conn net.Conn) *counted {
	c := &counted{Conn: conn, proxy: p, visit: v.visit, record: record}
	c.told.Store(time.Now().UnixNano())
	v.visit.Tell(record)
	return c
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	if spent := c.count(n); spent != nil {
		return n, spent
	}
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	c.sent.Add(int64(len(b))) // first: its answer may be here, and the connection be over, before this goes on
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n - len(b)))
	if spent := c.count(n); spent != nil {
		return n, spent
	}
	return n, err
}

// count counts n bytes more, and fails when they are too many, or the network was taken away.
func (c *counted) count(n int) error {
	if !c.proxy.limits.move(c.visit.Machine, n) {
		return c.end(c.proxy.errVolume())
	}
	now, last := time.Now().UnixNano(), c.told.Load()
	if now-last >= int64(tellEvery) && c.told.CompareAndSwap(last, now) {
		if c.visit.Policy().Mode == machine.NetworkOff {
			return c.end(denied("This machine has no network any more."))
		}
		c.report(false)
	}
	return nil
}

// carries notes that a secret was sent.
func (c *counted) carries(name string) {
	c.tell.Lock()
	known := slices.Contains(c.record.Secrets, name)
	if !known {
		c.record.Secrets = append(slices.Clone(c.record.Secrets), name)
	}
	c.tell.Unlock()
	if !known {
		c.report(false)
	}
}

func (c *counted) end(why *refusal) error {
	c.cut.Store(why)
	return why
}

func (c *counted) report(last bool) {
	c.tell.Lock()
	defer c.tell.Unlock()
	if c.over {
		return
	}
	c.over = last
	c.record.Sent, c.record.Received = c.sent.Load(), c.received.Load()
	if last {
		now := time.Now().UTC()
		c.record.State, c.record.EndedAt = machine.ConnectionClosed, &now
		if why := c.cut.Load(); why != nil {
			c.record.Reason = why.reason
		}
	}
	c.visit.Tell(c.record)
}

// Close ends the connection, and tells of it.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.report(true)
	return err
}

// CloseWrite says that nothing more follows.
func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return conn.Close()
}

// splice carries bytes both ways until both are done, and closes both.
func splice(inside, outside net.Conn) {
	var wg sync.WaitGroup
	oneWay := func(to, from net.Conn) {
		if iox.Copy(to, from) != nil || closeWrite(to) != nil {
			to.Close()
			from.Close()
		}
	}
	wg.Go(func() { oneWay(outside, inside) })
	oneWay(inside, outside)
	wg.Wait()
	inside.Close()
	outside.Close()
}
