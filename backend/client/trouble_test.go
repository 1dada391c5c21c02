package client

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/wire"
)

// What a far server and the way to it do wrong is told apart. What is safe to send again is, and
// code never is, unless it was certainly not taken.
func TestTroubleWithAFarServer(t *testing.T) {
	page := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>Welcome to the hotel</html>")
		}
	}
	status := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		list   error // of what may be sent again
		exec   error // of code
		again  bool  // whether code is sent more than once
	}{
		"401":             {status(401, `{"code": "Unauthorized", "id": null}`), ErrUnauthorized, ErrUnauthorized, false},
		"404":             {status(404, `{"code": "MachineNotFound", "id": null}`), ErrNotFound, ErrNotFound, false},
		"429":             {status(429, ""), ErrLimited, ErrLimited, true}, // it was refused, so it may be sent again
		"500":             {status(500, `{"code": "Internal", "id": "x"}`), ErrServer, ErrServer, false},
		"a gateway":       {page(502), ErrServer, ErrDropped, false},
		"a timed out one": {status(504, ""), ErrServer, ErrDropped, false},
		"a hotel":         {page(200), ErrIntercepted, ErrDropped, false},
		"a hotel's 403":   {page(403), ErrIntercepted, ErrIntercepted, false},
		"a detour":        {http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP, ErrIntercepted, ErrIntercepted, false},
		"a proxy's lock":  {status(407, ""), ErrIntercepted, ErrIntercepted, false},
		"garbage":         {status(200, "\x00\xff{"), ErrDropped, ErrDropped, false},
		"half an answer":  {status(200, `{"machines": [`), ErrDropped, ErrDropped, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lists, execs atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/exec"):
					execs.Add(1)
				case r.URL.Path != "/v1/machine/list":
					t.Errorf("%s was asked for", r.URL.Path)
				default:
					lists.Add(1)
				}
				c.answer(w, r)
			}))
			defer server.Close()
			w := New(server.URL, "a.b", Options{patience: 200 * time.Millisecond}).Wire()
			if _, err := w.List(t.Context(), nil); !errors.Is(err, c.list) {
				t.Errorf("list: %v, want %v", err, c.list)
			}
			if _, err := w.Exec(t.Context(), "m", wire.Exec{}); !errors.Is(err, c.exec) {
				t.Errorf("exec: %v, want %v", err, c.exec)
			}
			if n := execs.Load(); n != 1 && !c.again || n < 1 {
				t.Errorf("code was sent %d times", n)
			}
		})
	}
}

// Run gives up where nobody says what became of the code, and tells why.
func TestRunGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
		most   int32
	}{
		"a hotel": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Welcome to the hotel</html>")
		}, ErrIntercepted, 1},
		"broken off":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrDropped, 1000},
		"an empty answer": {func(http.ResponseWriter, *http.Request) {}, ErrDropped, answersLost + 1},
		"half a line":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"instru`) }, ErrDropped, answersLost + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			keys := sync.Map{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				body, _ := io.ReadAll(r.Body)
				keys.Store(string(body), true)
				c.answer(w, r)
			}))
			defer server.Close()
			client := New(server.URL, "a.b", Options{patience: 200 * time.Millisecond})
			_, err := client.Run(t.Context(), "m", api.Execute{Code: "1"}, func(api.Instruction) { t.Error("it was queued") }, nil)
			if !errors.Is(err, c.want) || sent.Load() > c.most {
				t.Errorf("%v after %d requests, want %v", err, sent.Load(), c.want)
			}
			different := 0
			keys.Range(func(any, any) bool { different++; return true })
			if different != 1 {
				t.Errorf("it was sent under %d keys", different)
			}
		})
	}
}

// A server that takes no more for a moment is asked again when it said.
func TestBusyServer(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"instruction_seq": 7}`)
	}))
	defer server.Close()
	taken, err := New(server.URL, "a.b", Options{}).Wire().Exec(t.Context(), "m", wire.Exec{})
	if err != nil || taken.InstructionSeq != 7 || asked.Load() != 3 {
		t.Errorf("%+v, %v, after %d", taken, err, asked.Load())
	}
}

// A server that does not show a certificate which is trusted hears nothing, and neither does one
// that speaks no TLS.
func TestUntrusted(t *testing.T) {
	heard := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent something") })
	certified, plain := httptest.NewUnstartedServer(heard), httptest.NewServer(heard)
	defer plain.Close()
	certified.Config.ErrorLog = log.New(io.Discard, "", 0)
	certified.StartTLS()
	defer certified.Close()
	for _, address := range []string{certified.URL, strings.Replace(plain.URL, "http:", "https:", 1)} {
		w := New(address, "a.b", Options{}).Wire()
		if _, err := w.Whoami(t.Context()); !errors.Is(err, ErrUntrusted) {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := w.Exec(t.Context(), "m", wire.Exec{}); !errors.Is(err, ErrUntrusted) || errors.Is(err, ErrDropped) {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := w.Repl(t.Context(), "m"); !errors.Is(err, ErrUntrusted) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A server that says nothing is not waited for longer than a call may take; code that it was sent
// may run.
func TestSlowServer(t *testing.T) {
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(end)
	c := New(server.URL, "a.b", Options{patience: 10 * time.Millisecond})
	_, err := c.call(t.Context(), request{method: http.MethodPost, path: "/v1/machine/m/exec", json: wire.Exec{}, within: 50 * time.Millisecond}, nil)
	if !errors.Is(err, ErrSlow) || !errors.Is(err, ErrDropped) {
		t.Errorf("code: %v", err)
	}
	_, err = c.call(t.Context(), request{method: http.MethodGet, path: "/v1/whoami", repeatable: true, within: 50 * time.Millisecond}, nil)
	if !errors.Is(err, ErrSlow) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("a question: %v", err)
	}
}

// A proxy that is not there, or lets nobody through, is named as what is wrong.
func TestNoProxy(t *testing.T) {
	nowhere := httptest.NewServer(http.NotFoundHandler())
	nowhere.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer locked.Close()
	for _, address := range []string{nowhere.URL, locked.URL} {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.OnProxyConnectResponse = Proxied
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(address) }
		_, err := New("https://example.invalid", "a.b", Options{HTTPClient: &http.Client{Transport: transport}}).Wire().Exec(t.Context(), "m", wire.Exec{})
		if !errors.Is(err, ErrProxy) || !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDropped) || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("%v", err)
		}
	}
}
