package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
)

// Updates are what is known of newer releases; the daemon looks for them. Errors are sentences for
// the person.
type Updates interface {
	Update() api.Update
	// Look asks what is newer.
	Look(ctx context.Context) (api.Update, error)
	// Install begins to download and install what is newer, and returns; Update tells how far it
	// is.
	Install() (api.Update, error)
}

func (s *Server) getUpdate(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.config.Updates.Update())
}

func (s *Server) lookForUpdate(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Updates.Look(r.Context())
	if err != nil {
		return updateFailed(err)
	}
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) installUpdate(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Updates.Install()
	if err != nil {
		return updateFailed(err)
	}
	s.note(r, audit.Update, "", now.Version)
	return writeJSON(w, http.StatusOK, now)
}

func updateFailed(err error) error {
	return &failure{http.StatusConflict, "UpdateFailed", err.Error()}
}
