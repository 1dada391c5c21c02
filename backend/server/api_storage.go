package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Storage is what ForeverVM keeps on the disk.
type Storage interface {
	Storage(ctx context.Context) (api.Storage, error)
	// FreeUp deletes what was chosen, for good, and returns what is left.
	FreeUp(ctx context.Context, what api.FreeUp) (api.Storage, error)
}

func (s *Server) getStorage(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Storage.Storage(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) freeUp(w http.ResponseWriter, r *http.Request) error {
	var what api.FreeUp
	if err := readJSON(w, r, &what); err != nil {
		return err
	}
	now, err := s.config.Storage.FreeUp(r.Context(), what)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, now)
}
