package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/machine"
)

// What someone without the token sends is read only as far as a code is long: what the kernel takes
// besides does not count.
func TestAStrangersBodyIsShort(t *testing.T) {
	server := httptest.NewUnstartedServer(New(Config{Machines: closed{}, Token: testToken}))
	taken := &counting{Listener: server.Listener}
	server.Listener = taken
	server.Start()
	t.Cleanup(server.Close)
	long := api.OpenCode{Code: strings.Repeat("x", strangerBody)}
	if status, body := post(t, server.URL+"/open", "", long); status != 413 || errorCode(t, string(body)) != "TooLarge" {
		t.Errorf("a long body: %d %s", status, body)
	}
	const all, most = 4 << 20, 1 << 20 // Go's server reads a quarter of a megabyte more, before it hangs up
	for _, route := range New(Config{Machines: closed{}, Token: testToken}).routes() {
		if !route.open {
			continue
		}
		method, path, ok := strings.Cut(route.pattern, " ")
		if !ok {
			method, path = "POST", route.pattern
		}
		before := taken.bytes.Load()
		// A JSON string that goes on and on. Its length is not told.
		body := io.MultiReader(strings.NewReader(`"`), strings.NewReader(strings.Repeat("x", all)))
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil { // else it was cut off while it sent
			_ = resp.Body.Close()
		}
		if got := taken.bytes.Load() - before; got > most {
			t.Errorf("%s took %d bytes of a body of %d", route.pattern, got, all)
		}
	}
}

// counting counts the bytes that are read from its connections.
type counting struct {
	net.Listener
	bytes atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, &l.bytes}, err
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// patient is a domain with nothing in it.
type patient struct{ closed }

func (patient) List(context.Context, machine.Filter) (machine.Page[machine.Machine], error) {
	return machine.Page[machine.Machine]{}, nil
}

// A request without the token has to be all there soon; one with it may take its time.
func TestAStrangerMayNotBeSlow(t *testing.T) {
	for name, test := range map[string]struct {
		path, header string
		cut          bool
	}{
		"open":        {"/open", "", true},
		"signup":      {"/internal/signup", "", true},
		"no token":    {"/v1/machine/list", "", true},
		"wrong token": {"/v1/machine/list", "Authorization: Bearer a.b\r\n", true},
		"right token": {"/v1/machine/list", "Authorization: Bearer " + testToken + "\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes := make(pipeListener)
				ctx, stop := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- New(Config{Machines: patient{}, Token: testToken}).Serve(ctx, nil, pipes) }()
				defer func() {
					stop()
					if err := <-served; err != nil {
						t.Error(err)
					}
				}()
				ours, theirs := net.Pipe()
				defer ours.Close()
				pipes <- theirs
				if _, err := fmt.Fprintf(ours, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n%s\r\n", test.path, test.header); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					answer := bufio.NewReader(ours)
					resp, err := http.ReadResponse(answer, nil)
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					if err == nil && !test.cut {
						ended <- errors.Join(err, statusIs(resp, 200))
						return
					}
					_, err = io.Copy(io.Discard, answer) // until the server hangs up
					ended <- err
				}()
				time.Sleep(strangerWithin + time.Second)
				synctest.Wait()
				if !test.cut {
					if _, err := io.WriteString(ours, "{}"); err != nil {
						t.Fatalf("a slow body of one who may: %v", err)
					}
					if err := <-ended; err != nil {
						t.Error(err)
					}
					return
				}
				select {
				case err := <-ended:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("the connection is held on to")
				}
			})
		})
	}
}

func statusIs(resp *http.Response, want int) error {
	if resp.StatusCode != want {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	return nil
}

// pipeListener accepts the connections that are sent to it.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l pipeListener) Close() error {
	defer func() { _ = recover() }() // http.Server closes it more than once
	close(l)
	return nil
}

func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

func TestHealthProvesThatItKnowsTheToken(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	ask := func(query string) (int, string) {
		resp, body := request(t, base, "GET", "/health"+query, nil)
		return resp.StatusCode, body
	}
	nonce := strings.Repeat("a1", 16)
	at, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var health api.Health
	status, body := ask("?nonce=" + nonce)
	if err := json.Unmarshal([]byte(body), &health); err != nil || status != 200 || health.Proof != handshake.Of(testToken, nonce, at) {
		t.Errorf("%d %s", status, body)
	}
	if health.Proof == handshake.Of(testToken+"x", nonce, at) || health.Proof == handshake.Of(testToken, nonce, &net.TCPAddr{IP: at.IP, Port: at.Port + 1}) {
		t.Error("the proof fits another token or address")
	}
	if status, body := ask(""); status != 200 || strings.Contains(body, "proof") {
		t.Errorf("unasked: %d %s", status, body)
	}
	for _, wrong := range []string{"", "a1", "zz" + nonce, nonce + "a", strings.Repeat("a", 130)} {
		if status, body := ask("?nonce=" + wrong); status != 400 || errorCode(t, body) != "Invalid" {
			t.Errorf("nonce %q: %d %s", wrong, status, body)
		}
	}
}
