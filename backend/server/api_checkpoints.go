package server

import (
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

func (s *Server) listCheckpoints(w http.ResponseWriter, r *http.Request) error {
	found, err := s.config.Machines.Checkpoints(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", checkpointJSON))
}

func (s *Server) createCheckpoint(w http.ResponseWriter, r *http.Request) error {
	var body api.NewCheckpoint
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, err := s.config.Machines.Checkpoint(r.Context(), r.PathValue("name"), body.Label)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, checkpointJSON(made))
}

func (s *Server) keepCheckpoint(w http.ResponseWriter, r *http.Request) error {
	var body api.NewCheckpoint
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	kept, err := s.config.Machines.KeepCheckpoint(r.Context(), r.PathValue("name"), r.PathValue("id"), body.Label)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, checkpointJSON(kept))
}

func (s *Server) deleteCheckpoint(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Machines.DeleteCheckpoint(r.Context(), r.PathValue("name"), r.PathValue("id")); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) rewind(w http.ResponseWriter, r *http.Request) error {
	var body api.Rewind
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if body.Checkpoint == "" {
		return invalid("Say which checkpoint to go back to.")
	}
	m, err := s.config.Machines.Rewind(r.Context(), r.PathValue("name"), body.Checkpoint, body.KeepAs)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, machineJSON(m))
}

func (s *Server) listBranches(w http.ResponseWriter, r *http.Request) error {
	found, err := s.config.Machines.Branches(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", branchJSON))
}

func (s *Server) renameBranch(w http.ResponseWriter, r *http.Request) error {
	var body api.BranchChange
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if err := s.config.Machines.RenameBranch(r.Context(), r.PathValue("name"), r.PathValue("branch"), body.Name); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) deleteBranch(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Machines.DeleteBranch(r.Context(), r.PathValue("name"), r.PathValue("branch")); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if query.Get("from") == "" {
		return invalid("Say which checkpoint to compare, as \"from\".")
	}
	found, err := s.config.Machines.Compare(r.Context(), r.PathValue("name"), query.Get("from"), query.Get("to"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, comparisonJSON(found))
}

func (s *Server) fork(w http.ResponseWriter, r *http.Request) error {
	var body api.NewMachine
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, err := s.config.Machines.Fork(r.Context(), r.PathValue("name"), body.Checkpoint, createOptions(r, body))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, machineJSON(made))
}
