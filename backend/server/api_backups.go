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
	return writeBackups(w)(s.config.Backups.Backups(r.Context()))
}

func (s *Server) backUp(w http.ResponseWriter, r *http.Request) error {
	return writeBackups(w)(s.config.Backups.BackUp(r.Context()))
}

func writeBackups(w http.ResponseWriter) func(api.Backups, error) error {
	return func(now api.Backups, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, now)
	}
}
