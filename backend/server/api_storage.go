package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
)

// Storage is what ForeverVM keeps on the disk.
type Storage interface {
	Storage(ctx context.Context) (api.Storage, error)
	// FreeUp deletes what was chosen, for good, and returns what is left.
	FreeUp(ctx context.Context, what api.FreeUp) (api.Storage, error)
}

// Moves brings ForeverVM's files to another disk.
type Moves interface {
	Moving() api.Move
	Move(ctx context.Context, folder string) (api.Move, error)
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

func (s *Server) getMove(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.config.Moves.Moving())
}

func (s *Server) moveFiles(w http.ResponseWriter, r *http.Request) error {
	var wish api.MoveFiles
	if err := readJSON(w, r, &wish); err != nil {
		return err
	}
	now, err := s.config.Moves.Move(r.Context(), wish.Folder)
	if err != nil {
		return err
	}
	s.note(r, audit.Move, "", wish.Folder)
	return writeJSON(w, http.StatusAccepted, now)
}
