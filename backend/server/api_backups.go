package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Backups are the person's copies of machines.
type Backups interface {
	Backups(ctx context.Context) (api.Backups, error)
	// BackUp begins a round, and returns. It returns an ErrConflict where no folder is chosen.
	BackUp(ctx context.Context) (api.Backups, error)
}

func (s *Server) getBackups(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Backups.Backups(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) backUp(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Backups.BackUp(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, now)
}
