package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

func (s *Server) listCheckpoints(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found, err := m.Checkpoints(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", checkpointJSON))
}

func (s *Server) createCheckpoint(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.NewCheckpoint
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, err := m.Checkpoint(r.Context(), body.Label)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, checkpointJSON(made))
}

func (s *Server) keepCheckpoint(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.NewCheckpoint
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	kept, err := m.KeepCheckpoint(r.Context(), r.PathValue("id"), body.Label)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, checkpointJSON(kept))
}

func (s *Server) deleteCheckpoint(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if err := m.DeleteCheckpoint(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) contents(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found, err := m.Contents(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, contentsJSON(found))
}

func (s *Server) moveMachine(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.MachineMove
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if body.Engine == "" {
		return invalid("Say where to move the machine: the name of an engine or a place.")
	}
	from := m.Machine().Engine
	// A move goes on when the caller leaves, and belongs in the record then, too.
	moved, err := m.Move(context.WithoutCancel(r.Context()), body.Engine)
	if err != nil {
		return err
	}
	s.note(r, audit.Place, moved.Name, "moved from "+from+" to "+moved.Engine)
	return writeJSON(w, http.StatusOK, s.machineJSON(moved))
}

func (s *Server) rewind(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.Rewind
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if body.Checkpoint == "" {
		return invalid("Say which checkpoint to go back to.")
	}
	rewound, err := m.Rewind(r.Context(), body.Checkpoint, body.KeepAs)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(rewound))
}

func (s *Server) listBranches(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found, err := m.Branches(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found, "", branchJSON))
}

func (s *Server) renameBranch(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.BranchChange
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if err := m.RenameBranch(r.Context(), r.PathValue("branch"), body.Name); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) deleteBranch(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	if err := m.DeleteBranch(r.Context(), r.PathValue("branch")); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	query := r.URL.Query()
	if query.Get("from") == "" {
		return invalid("Say which checkpoint to compare, as \"from\".")
	}
	found, err := m.Compare(r.Context(), query.Get("from"), query.Get("to"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, comparisonJSON(found))
}

func (s *Server) fork(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.NewMachine
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	made, err := m.Fork(r.Context(), body.Checkpoint, createOptions(r, body))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(made))
}
