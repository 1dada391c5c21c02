package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// serve serves machines at a port, as the daemon does, and returns its address.
func serve(t *testing.T, machines Machines, listener net.Listener) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(Config{Machines: machines, Token: testToken}).Serve(ctx, nil, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// whoami asks over a client's connection with the token.
func whoami(t *testing.T, client *http.Client, address string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/whoami", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close(), statusIs(resp, 200))
}

// open counts the connections that a listener has accepted and that are not closed.
type open struct {
	net.Listener
	now atomic.Int64
}

func (l *open) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.now.Add(1)
	}
	return &openConn{Conn: conn, of: l}, err
}

type openConn struct {
	net.Conn
	of     *open
	closed atomic.Bool
}

func (c *openConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.of.now.Add(-1)
	}
	return c.Conn.Close()
}

// Thousands of connections without a token neither keep out who has it, nor use up descriptors.
func TestStrangersDoNotLockThePersonOut(t *testing.T) {
	counted := &open{Listener: listen(t)}
	address := serve(t, closed{}, counted)
	known := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer known.CloseIdleConnections()
	if err := whoami(t, known, address); err != nil {
		t.Fatal(err)
	}
	reused := atomic.Int64{}
	known.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		reused.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	for i := range 3 * mostGuests {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			continue
		}
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if err := whoami(t, fresh, address); err != nil {
		t.Errorf("a new connection: %v", err)
	}
	if err := whoami(t, known, address); err != nil || reused.Load() > 0 {
		t.Errorf("a connection that had shown the token: %v, made again %d times", err, reused.Load())
	}
	// One of ours is open, and one may be just being closed.
	if now := counted.now.Load(); now > mostGuests+2 {
		t.Errorf("%d connections are open", now)
	}
}

// A connection that has not shown the token may not rest for long, neither before, in nor after a
// request.
func TestAStrangerMayNotRest(t *testing.T) {
	address := serve(t, closed{}, listen(t))
	for name, said := range map[string]string{
		"before": "", "in a line": "GET /hea", "in the headers": "GET /health HTTP/1.1\r\nHost: localhost\r\nX: y\r\n",
		"after": "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			begun := time.Now()
			if _, err := io.WriteString(conn, said); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn) // until the server hangs up
			if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 200") != (name == "after") {
				t.Errorf("%q, %v", answer, err)
			}
			if took := time.Since(begun); took < guestIdle-100*time.Millisecond || took > strangerWithin-time.Second {
				t.Errorf("hung up on after %v", took)
			}
		})
	}
}

// refusing takes no file.
type refusing struct {
	closed
	machine.Handle
}

func (r refusing) Find(context.Context, string) (machine.Handle, error) { return r, nil }

func (refusing) PutFile(context.Context, string, io.Reader) (int64, error) {
	return 0, &machine.Error{Kind: machine.ErrConflict, Message: "This machine is in the bin. Restore it first."}
}

// Who sends a long body before reading the answer is told why it was refused.
func TestARefusalIsToldToWhoSendsOn(t *testing.T) {
	address := serve(t, refusing{}, listen(t))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 32 << 20
	_, err = fmt.Fprintf(conn, "PUT /api/machines/m/files/content?path=x HTTP/1.1\r\nHost: localhost\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", testToken, size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, size)); err != nil {
		t.Fatalf("not all could be sent: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 409 || errorCode(t, string(body)) != "Conflict" {
		t.Errorf("%s: %s, %v", resp.Status, body, err)
	}
}

// Who waits to be asked for the body is refused without sending it.
func TestARefusedBodyIsNotAskedFor(t *testing.T) {
	address := serve(t, refusing{}, listen(t))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "PUT /api/machines/m/files/content?path=x HTTP/1.1\r\nHost: localhost\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", testToken, 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusConflict {
		t.Errorf("answered %s", resp.Status)
	}
}
