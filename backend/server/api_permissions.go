package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

func permissionJSON(p machine.Permission) api.Permission {
	return api.Permission{
		ID: p.ID, Kind: string(p.Kind), App: p.App, Machine: p.Machine, Checkpoint: p.Checkpoint,
		Steps: p.Steps, MemoryMB: p.MemoryMB, State: string(p.State),
	}
}

func (s *Server) listPermissions(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, list(s.config.Machines.Permissions(), "", permissionJSON))
}

func (s *Server) askPermission(w http.ResponseWriter, r *http.Request) error {
	var body api.AskPermission
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	p, err := s.config.Machines.AskPermission(ctx, machine.Permission{
		Kind: machine.PermissionKind(body.Kind), App: clientOf(r).Name, Machine: body.Machine, Checkpoint: body.Checkpoint,
		Steps: body.Steps, MemoryMB: body.MemoryMB,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, permissionJSON(p))
}

func (s *Server) answerPermission(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return invalid("%q is no permission's number.", r.PathValue("id"))
	}
	var body api.AnswerPermission
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	var asked machine.Permission
	for _, p := range s.config.Machines.Permissions() {
		if p.ID == id {
			asked = p
		}
	}
	if err := s.config.Machines.AnswerPermission(id, body.Allow); err != nil {
		return err
	}
	answer := "deny"
	if body.Allow {
		answer = "allow"
	}
	s.note(r, audit.Answer, asked.Machine, fmt.Sprintf("%s: %s for %s", answer, asked.Kind, asked.App))
	return noContent(w)
}

// waitOf is how long a request says that it waits for what it is about.
func waitOf(r *http.Request) (time.Duration, error) {
	given := r.URL.Query().Get("wait")
	if given == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(given, 64)
	if err != nil || !(seconds >= 0) {
		return 0, invalid("The parameter wait must be a number of seconds.")
	}
	return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second)), nil
}
