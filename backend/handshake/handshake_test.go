package handshake_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "local-test.0123456789abcdef0123456789abcdef"

// daemon is the real HTTP side; it has no machines.
func daemon(t *testing.T, token string) string {
	t.Helper()
	machines := struct{ server.Machines }{}
	s := httptest.NewServer(server.New(server.Config{Machines: machines, Token: token, Account: "local", Version: "1"}))
	t.Cleanup(s.Close)
	return s.URL
}

func known() (string, error) { return token, nil }

// whoami sends the token.
func whoami(t *testing.T, base string) (*http.Response, error) {
	t.Helper()
	c := handshake.Client(known, nil)
	t.Cleanup(c.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/v1/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return c.Do(req)
}

func TestTheDaemonIsToldTheToken(t *testing.T) {
	resp, err := whoami(t, daemon(t, token))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestAnImpostorIsToldNothing(t *testing.T) {
	real, err := url.Parse(daemon(t, token))
	if err != nil {
		t.Fatal(err)
	}
	relay := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(real) }}
	for name, handler := range map[string]http.HandlerFunc{
		"one that only says that it is well": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"ok","version":"1"}`))
		},
		"one that makes a proof up": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"ok","version":"1","proof":"` + strings.Repeat("a", 64) + `"}`))
		},
		"one that echoes": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"proof":"` + r.URL.Query().Get(handshake.Parameter) + `"}`))
		},
		"one that never ends":                  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) },
		"one that asks the daemon elsewhere":   relay.ServeHTTP,
		"one that is gone in the middle of it": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			var told atomic.Bool
			impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" || r.URL.Path != "/health" {
					told.Store(true)
				}
				handler(w, r)
			}))
			defer impostor.Close()
			resp, err := whoami(t, impostor.URL)
			if err == nil {
				_ = resp.Body.Close()
				t.Error("it was believed")
			}
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != "dial" {
				t.Errorf("a caller cannot tell that nothing was sent: %v", err)
			}
			if told.Load() {
				t.Error("it was told the token")
			}
		})
	}
}

// A daemon of another home, or of another user, is not this one.
func TestADaemonWithAnotherTokenIsToldNothing(t *testing.T) {
	if resp, err := whoami(t, daemon(t, "local-other.0123456789abcdef0123456789abcdef")); err == nil {
		_ = resp.Body.Close()
		t.Errorf("it was asked, and answered %s", resp.Status)
	}
}

func TestWithoutATokenNobodyIsAsked(t *testing.T) {
	missing := errors.New("missing")
	c := handshake.Client(func() (string, error) { return "", missing }, nil)
	defer c.CloseIdleConnections()
	resp, err := c.Get(daemon(t, token) + "/health")
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, missing) {
		t.Errorf("%v", err)
	}
}
