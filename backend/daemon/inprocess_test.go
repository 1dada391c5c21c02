package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/server"
)

// Whatever address the daemon listens on, its own MCP side is not taken for a stranger's.
func TestInProcessIsNoForeignHost(t *testing.T) {
	listener := listenInProcess()
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	answers := server.New(server.Config{Machines: struct{ server.Machines }{}, Token: "a.b"})
	go func() { served <- answers.Serve(ctx, nil, listener) }()
	inside := client.New(insideURL, "a.b", client.Options{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: listener.Dial}}})
	if _, err := inside.Health(t.Context()); err != nil {
		t.Error(err)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestInProcessCarriesRequestsUntilItIsClosed(t *testing.T) {
	listener := listenInProcess()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{DialContext: listener.Dial}}
	resp, err := client.Post("http://127.0.0.1:1/", "text/plain", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if _, err := client.Get("http://127.0.0.1:1/"); !errors.Is(err, net.ErrClosed) { //nolint:bodyclose // there is no answer
		t.Errorf("after its end: %v", err)
	}
}
