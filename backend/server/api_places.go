package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
)

// Places are where machines can be beside this computer.
type Places interface {
	List() []api.Place
	// Look finds out what is there, and whether machines can run there. It changes nothing.
	Look(ctx context.Context, q api.NewPlace) (api.PlaceFacts, error)
	// Add sets a place up and runs a first machine there. It may take minutes.
	Add(ctx context.Context, q api.NewPlace) (api.Place, error)
	// Remove removes what is there, and forgets the place. One with machines stays.
	Remove(ctx context.Context, name string) error
}

func (s *Server) listPlaces(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, api.List[api.Place]{Items: s.config.Places.List()})
}

func (s *Server) lookAtPlace(w http.ResponseWriter, r *http.Request) error {
	var body api.NewPlace
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	facts, err := s.config.Places.Look(r.Context(), body)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, facts)
}

func (s *Server) addPlace(w http.ResponseWriter, r *http.Request) error {
	var body api.NewPlace
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	place, err := s.config.Places.Add(r.Context(), body)
	if err != nil {
		return err
	}
	s.note(r, audit.Place, "", "added: "+place.Name)
	return writeJSON(w, http.StatusCreated, place)
}

func (s *Server) removePlace(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := s.config.Places.Remove(r.Context(), name); err != nil {
		return err
	}
	s.note(r, audit.Place, "", "removed: "+name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
