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
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/proof"
)

// What someone without the token sends is read only as far as a code is long.
func TestAStrangersBodyIsShort(t *testing.T) {
	base := start(t, Config{Machines: closed{}, Token: testToken})
	long := api.OpenCode{Code: strings.Repeat("x", strangerBody)}
	if status, body := post(t, base+"/open", "", long); status != 413 || errorCode(t, string(body)) != "TooLarge" {
		t.Errorf("a long body: %d %s", status, body)
	}
	for _, route := range New(Config{Machines: closed{}, Token: testToken}).routes() {
		if !route.open {
			continue
		}
		method, path, ok := strings.Cut(route.pattern, " ")
		if !ok {
			method, path = "POST", route.pattern
		}
		sent := &endless{most: 4 << 20}
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, sent)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			continue // it was cut off while it sent
		}
		_ = resp.Body.Close()
		if sent.all() {
			t.Errorf("%s took all of a body of %d bytes", route.pattern, sent.most)
		}
	}
}

// endless is a JSON string that goes on and on.
type endless struct {
	mu         sync.Mutex
	sent, most int
}

func (e *endless) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sent >= e.most {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = '"'
		if e.sent+i > 0 {
			p[i] = 'x'
		}
	}
	e.sent += len(p)
	return len(p), nil
}

func (e *endless) all() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent >= e.most
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
				go func() { served <- New(Config{Machines: patient{}, Token: testToken}).Serve(ctx, pipes) }()
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
	if err := json.Unmarshal([]byte(body), &health); err != nil || status != 200 || health.Proof != proof.Of(testToken, nonce, at) {
		t.Errorf("%d %s", status, body)
	}
	if health.Proof == proof.Of(testToken+"x", nonce, at) || health.Proof == proof.Of(testToken, nonce, &net.TCPAddr{IP: at.IP, Port: at.Port + 1}) {
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
