package server

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// scripted gives a new channel to each subscription, and remembers from where it was asked for.
type scripted struct {
	closed
	streams chan chan machine.Event
	after   []string
}

func (s *scripted) Subscribe(_ context.Context, after string) <-chan machine.Event {
	s.after = append(s.after, after)
	return <-s.streams
}

// recorder is a client that takes everything.
type recorder struct {
	*httptest.ResponseRecorder
	mu   sync.Mutex
	sent bytes.Buffer // what was flushed
}

func (r *recorder) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent.Reset()
	r.sent.Write(r.Body.Bytes())
}

func (r *recorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSuffix(r.sent.String(), "\n"), "\n")
}

// A quiet stream shows that it lives, and one that fell behind goes on where its client is.
func TestEventsPingAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		domain := &scripted{streams: make(chan chan machine.Event, 2)}
		first, second := make(chan machine.Event, 2), make(chan machine.Event, 2)
		domain.streams <- first
		domain.streams <- second
		server := New(Config{Machines: domain, Token: testToken})
		ctx, cancel := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/events?after=e-1", nil)
		client := &recorder{ResponseRecorder: httptest.NewRecorder()}
		ended := make(chan error)
		go func() { ended <- server.events(client, request) }()

		first <- machine.Event{ID: "e-2", Type: machine.EventCheckpoint, Machine: &machine.Machine{Name: "a"}}
		synctest.Wait()
		if got := client.lines(); len(got) != 1 || got[0] != `{"id":"e-2","name":"a","type":"checkpoint"}` {
			t.Errorf("%q", got)
		}
		time.Sleep(pingEvery + time.Second)
		if got := client.lines(); len(got) != 2 || got[1] != `{"type":"ping"}` {
			t.Errorf("after %v of silence: %q", pingEvery, got)
		}
		close(first)
		second <- machine.Event{ID: "e-3", Type: machine.EventReset}
		synctest.Wait()
		if got := client.lines(); len(got) != 3 || got[2] != `{"id":"e-3","type":"reset"}` {
			t.Errorf("%q", got)
		}
		if strings.Join(domain.after, " ") != "e-1 e-2" {
			t.Errorf("asked for what comes after %q", domain.after)
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("the stream ended as if there were no more events")
		}
	})
}
