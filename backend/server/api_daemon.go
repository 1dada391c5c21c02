package server

import (
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/handshake"
	"github.com/forevervm/desktop/backend/machine"
)

// health needs no token. Asked with a nonce it shows that it knows the token, so that a caller
// dares to send it.
func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	answer := api.Health{Status: "ok", Version: s.config.Version}
	if query := r.URL.Query(); query.Has(handshake.Parameter) {
		nonce := query.Get(handshake.Parameter)
		if !handshake.ValidNonce(nonce) {
			return invalid("The parameter %s must be 16 to 64 random bytes in hexadecimal.", handshake.Parameter)
		}
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		answer.Proof = handshake.Of(s.config.Token, nonce, at)
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, s.statusJSON(s.config.Machines.Status(r.Context())))
}

func (s *Server) startEngine(w http.ResponseWriter, r *http.Request) error {
	engine, err := s.config.Machines.StartEngine(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, engineJSON(engine))
}

func (s *Server) shutdown(w http.ResponseWriter, _ *http.Request) error {
	if err := noContent(w); err != nil {
		return err
	}
	_ = http.NewResponseController(w).Flush() // the client hears of it before the connection goes
	s.config.Shutdown()
	return nil
}

// pingEvery keeps the connection of an event stream alive and shows both sides that the other is
// there.
const pingEvery = 15 * time.Second

// events sends what happens until the client goes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	after, wanted := r.URL.Query().Get("after"), r.URL.Query()["type"]
	coming := s.config.Machines.Subscribe(ctx, after)
	out := newLines(w)
	if err := out.flush(); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	send := func(event api.Event) error {
		line, err := encodeJSON(event)
		if err != nil {
			return err
		}
		return out.add(line)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ping.C:
			if err := send(api.Event{Type: "ping"}); err != nil {
				return err
			}
		case event, ok := <-coming:
			if !ok {
				// This stream was too slow, as its client was; it goes on from what the client has.
				if ctx.Err() != nil {
					return ctx.Err()
				}
				coming = s.config.Machines.Subscribe(ctx, after)
				continue
			}
			if event.ID != "" {
				after = event.ID
			}
			if event.Status != nil { // the domain's, without what Machines know beside it
				now := s.config.Machines.Status(ctx)
				event.Status = &now
			}
			if len(wanted) == 0 || event.Type == machine.EventReset || slices.Contains(wanted, string(event.Type)) {
				if err := send(s.eventJSON(event)); err != nil {
					return err
				}
			}
			if len(coming) > 0 {
				continue // send them together
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := queryInt(query, "limit", 1, 0)
	if err != nil {
		return err
	}
	words := query.Get("q")
	if words == "" {
		return invalid("Say what to search for: the parameter q is empty.")
	}
	found, err := s.config.Machines.Search(r.Context(), machine.SearchQuery{
		Text: words, Machine: query.Get("machine"), Cursor: query.Get("cursor"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found.Items, found.Next, func(hit machine.SearchHit) api.SearchHit {
		summary, does := headline(hit.Summary, hit.Code)
		return api.SearchHit{
			Machine: hit.MachineName, Seq: hit.Seq, At: hit.At.UTC(), Summary: summary, Does: does, Field: hit.Field, Snippet: text([]byte(hit.Snippet)),
		}
	}))
}
