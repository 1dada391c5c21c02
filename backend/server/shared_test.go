package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// sharing is a domain that notes which folder is shared.
type sharing struct {
	closed
	machine.Handle
	folder *machine.SharedFolder
}

func (s *sharing) Find(context.Context, string) (machine.Handle, error) { return s, nil }

func (s *sharing) Share(_ context.Context, folder *machine.SharedFolder) (machine.Machine, error) {
	s.folder = folder
	return machine.Machine{Name: "m", Shared: folder, Unshared: "It is not there."}, nil
}

// Anyone who has the token elsewhere must not open this computer's folders, but may close them.
func TestFoldersAreSharedHereAlone(t *testing.T) {
	domain := &sharing{}
	server := New(Config{Machines: domain, Token: testToken})
	send := func(method, from string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost/api/machines/m/shared", strings.NewReader(`{"path":"/docs"}`))
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	for _, from := range []string{"192.168.1.7:4000", "[2001:db8::1]:4000", "nonsense"} {
		if w := send("PUT", from); w.Code != http.StatusForbidden || errorCode(t, w.Body.String()) != "NotHere" || domain.folder != nil {
			t.Errorf("from %s: %d %s", from, w.Code, w.Body)
		}
	}
	for _, from := range []string{"127.0.0.1:4000", "[::1]:4000", "[::ffff:127.0.0.1]:4000"} {
		domain.folder = nil
		if w := send("PUT", from); w.Code != http.StatusOK || domain.folder == nil || *domain.folder != (machine.SharedFolder{Path: "/docs"}) ||
			!strings.Contains(w.Body.String(), `"shared":{"path":"/docs","problem":"It is not there."}`) {
			t.Errorf("from %s: %d %s", from, w.Code, w.Body)
		}
	}
	domain.folder = nil
	r := httptest.NewRequestWithContext(
		context.WithValue(t.Context(), http.LocalAddrContextKey, &net.UnixAddr{Name: "daemon.sock", Net: "unix"}),
		"PUT", "http://localhost/api/machines/m/shared", strings.NewReader(`{"path":"/docs"}`))
	r.RemoteAddr = "@"
	r.Header.Set("Authorization", "Bearer "+testToken)
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, r); w.Code != http.StatusOK || domain.folder == nil {
		t.Errorf("over the socket: %d %s", w.Code, w.Body)
	}
	if w := send("DELETE", "192.168.1.7:4000"); w.Code != http.StatusOK || domain.folder != nil {
		t.Errorf("it stays shared: %d %s", w.Code, w.Body)
	}
}

func (s *sharing) Results() (string, error) { return "/results", nil }

// Nobody elsewhere opens windows on this computer.
func TestResultsAreOpenedHereAlone(t *testing.T) {
	var opened []string
	server := New(Config{Machines: &sharing{}, Token: testToken, Open: func(_ context.Context, path string) error {
		opened = append(opened, path)
		return nil
	}})
	for from, want := range map[string]int{"192.168.1.7:4000": http.StatusForbidden, "127.0.0.1:4000": http.StatusOK} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/api/machines/m/results/open", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		if server.ServeHTTP(w, r); w.Code != want {
			t.Errorf("from %s: %d %s", from, w.Code, w.Body)
		}
	}
	if len(opened) != 1 || opened[0] != "/results" {
		t.Errorf("opened %q", opened)
	}
}
