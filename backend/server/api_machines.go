package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

func (s *Server) listMachines(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	filter := machine.Filter{Engine: query.Get("engine"), Text: query.Get("q"), Cursor: query.Get("cursor")}
	for _, state := range query["state"] {
		filter.States = append(filter.States, machine.State(state))
	}
	for _, tag := range query["tag"] {
		key, value, ok := strings.Cut(tag, "=")
		if !ok {
			return invalid("The parameter tag must look like key=value, not %q.", tag)
		}
		if filter.Tags == nil {
			filter.Tags = map[string]string{}
		}
		filter.Tags[key] = value
	}
	var err error
	if filter.CreatedAfter, err = queryTime(query, "created_after"); err != nil {
		return err
	}
	if filter.CreatedBefore, err = queryTime(query, "created_before"); err != nil {
		return err
	}
	if filter.Deleted, err = queryBool(query, "deleted"); err != nil {
		return err
	}
	if filter.Limit, err = queryInt(query, "limit", 1, 0); err != nil {
		return err
	}
	found, err := s.machinesOf(r).List(r.Context(), filter)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list(found.Items, found.Next, s.machineJSON))
}

func (s *Server) createMachine(w http.ResponseWriter, r *http.Request) error {
	var body api.NewMachine
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if body.Checkpoint != "" {
		return invalid("A new machine has no checkpoint to start from. To start from another machine's, fork that machine.")
	}
	made, err := s.machinesOf(r).Create(r.Context(), createOptions(r, body))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(made))
}

func createOptions(r *http.Request, body api.NewMachine) machine.CreateOptions {
	return machine.CreateOptions{
		Name: body.Name, Title: body.Title, Tags: body.Tags, MemoryMB: body.MemoryMB, Engine: body.Engine, Image: body.Image,
		ExpiresAt: body.ExpiresAt, Client: clientOf(r),
	}
}

func (s *Server) getMachine(w http.ResponseWriter, _ *http.Request, m machine.Handle) error {
	return writeJSON(w, http.StatusOK, s.machineJSON(m.Machine()))
}

func (s *Server) changeMachine(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	var body api.MachineChange
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	change := machine.Change{Name: body.Name, Title: body.Title, Tags: body.Tags, MemoryMB: body.MemoryMB, Network: networkChange(body.Network)}
	if body.ExpiresAt != nil {
		change.ExpiresAt = &body.ExpiresAt.Time
	}
	changed, err := m.Update(r.Context(), change)
	if err != nil {
		return err
	}
	if body.Network != nil {
		s.note(r, audit.Network, changed.Name, networkText(changed.Network))
	}
	return writeJSON(w, http.StatusOK, s.machineJSON(changed))
}

func (s *Server) deleteMachine(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	purge, err := queryBool(r.URL.Query(), "purge")
	if err != nil {
		return err
	}
	if purge && !callerOf(r).Owner {
		return errOwnerOnly
	}
	name := m.Name()
	if purge {
		err = m.Purge(r.Context())
	} else {
		err = m.Delete(r.Context())
	}
	if err != nil {
		return err
	}
	if purge {
		s.note(r, audit.Purge, name, "")
	}
	return noContent(w)
}

// changing does something to a machine and answers with what became of it.
func (s *Server) changing(do func(m machine.Handle, ctx context.Context) error) func(http.ResponseWriter, *http.Request, machine.Handle) error {
	return func(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
		if err := do(m, r.Context()); err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, s.machineJSON(m.Machine()))
	}
}
