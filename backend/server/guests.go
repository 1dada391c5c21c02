package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// mostGuests is how many connections may be open at once that have not shown the token.
	// Programs that open hundreds at once are let in: each shows its token as soon as its request
	// is read.
	mostGuests = 1000
	// guestIdle is how long one of them may be open while it asks for nothing.
	guestIdle = 5 * time.Second
)

// guests are the TCP connections that have not shown the token. Where there are too many, the
// oldest is closed for the newest: to refuse the newest would lock the person out. Connections over
// a socket that only this user can open are no guests.
type guests struct {
	mu  sync.Mutex
	all []*guest // oldest first
}

type guest struct {
	conn net.Conn
	idle *time.Timer // closes the connection
}

// connection is the context's key of a request's visitor.
type connection struct{}

// visitor is a connection, and among whom it is a guest.
type visitor struct {
	conn net.Conn
	of   *guests
}

// with is http.Server's ConnContext.
func (g *guests) with(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, visitor{conn, g})
}

// changed is http.Server's ConnState.
func (g *guests) changed(conn net.Conn, state http.ConnState) {
	if conn.LocalAddr().Network() != "tcp" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if state == http.StateNew {
		if len(g.all) >= mostGuests {
			hangUp(g.all[0].conn)
			g.remove(0)
		}
		idle := time.AfterFunc(guestIdle, func() { hangUp(conn) })
		g.all = append(g.all, &guest{conn: conn, idle: idle})
		return
	}
	at := g.index(conn)
	switch {
	case at < 0:
	case state == http.StateActive:
		g.all[at].idle.Stop()
	case state == http.StateIdle:
		g.all[at].idle.Reset(guestIdle)
	default:
		g.remove(at)
	}
}

// known notes that a request has shown the token: its connection is no guest any more.
func known(r *http.Request) {
	v, ok := r.Context().Value(connection{}).(visitor)
	if !ok {
		return
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	if at := v.of.index(v.conn); at >= 0 {
		v.of.remove(at)
	}
}

// hangUp closes a guest's connection. TLS would say goodbye, and wait for who does not listen.
func hangUp(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}

// index is where a connection is among the guests; -1 for none of them. mu is held.
func (g *guests) index(conn net.Conn) int {
	return slices.IndexFunc(g.all, func(one *guest) bool { return one.conn == conn })
}

// remove takes a guest out. mu is held.
func (g *guests) remove(at int) {
	g.all[at].idle.Stop()
	g.all = slices.Delete(g.all, at, at+1)
}
