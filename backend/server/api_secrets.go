package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/machine/naming"
	"github.com/forevervm/desktop/backend/secrets"
)

// Secrets keeps what machines may use and not see.
type Secrets interface {
	List() ([]secrets.Secret, error)
	Set(name string, hosts []string, machines []machine.ID, value string) (secrets.Secret, error)
	Remove(name string) error
}

func (s *Server) secretJSON(ctx context.Context, one secrets.Secret) (api.Secret, error) {
	out := api.Secret{Name: one.Name, Hosts: one.Hosts, CreatedAt: one.CreatedAt}
	if len(one.Machines) == 0 {
		return out, nil
	}
	all, err := s.machinesByID(ctx)
	if err != nil {
		return out, err
	}
	out.Machines = []string{}
	for _, id := range one.Machines {
		if m, ok := all[id]; ok {
			out.Machines = append(out.Machines, m.Name)
		}
	}
	return out, nil
}

func (s *Server) machinesByID(ctx context.Context) (map[machine.ID]machine.Machine, error) {
	all := map[machine.ID]machine.Machine{}
	for cursor := ""; ; {
		page, err := s.config.Machines.List(ctx, machine.Filter{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			all[m.ID] = m
		}
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

func (s *Server) listSecrets(w http.ResponseWriter, r *http.Request) error {
	found, err := s.config.Secrets.List()
	if err != nil {
		return err
	}
	page := api.List[api.Secret]{Items: []api.Secret{}}
	for _, one := range found {
		secret, err := s.secretJSON(r.Context(), one)
		if err != nil {
			return err
		}
		page.Items = append(page.Items, secret)
	}
	return writeJSON(w, http.StatusOK, page)
}

func (s *Server) setSecret(w http.ResponseWriter, r *http.Request) error {
	var body api.NewSecret
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	var machines []machine.ID
	for _, name := range body.Machines {
		m, err := s.config.Machines.Find(r.Context(), name)
		if err != nil {
			return err
		}
		machines = append(machines, m.Machine().ID)
	}
	secret, err := s.config.Secrets.Set(r.PathValue("name"), body.Hosts, machines, body.Value)
	if err != nil {
		return err
	}
	s.note(r, audit.Secret, "", "kept: "+secret.Name+" for "+strings.Join(secret.Hosts, ", "))
	s.renew(r.Context(), secret)
	answer, err := s.secretJSON(r.Context(), secret)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (s *Server) removeSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := s.config.Secrets.Remove(name); err != nil {
		return err
	}
	s.note(r, audit.Secret, "", "forgotten: "+name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// renew puts machines to sleep that are awake for nothing: they have the secret when they wake.
func (s *Server) renew(ctx context.Context, secret secrets.Secret) {
	all, err := s.machinesByID(ctx)
	if err != nil {
		s.config.Logger.Warn("machines that are awake do not have a secret yet", "err", err)
		return
	}
	for id, m := range all {
		if m.State != machine.Idle || m.Queued > 0 || !secret.For(id, m.Owner) {
			continue
		}
		handle, err := s.config.Machines.Find(ctx, m.Name)
		if err == nil {
			err = handle.Swap(ctx)
		}
		if err != nil && !errors.Is(err, machine.ErrConflict) && !errors.Is(err, machine.ErrNotFound) {
			s.config.Logger.Warn("a machine that is awake does not have a secret yet", "machine", id, "err", err)
		}
	}
}

const mostTypedKeys = 100

// typedKeys are the steps whose code holds what looks like a key.
func (s *Server) typedKeys(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	found := api.List[api.TypedKey]{Items: []api.TypedKey{}}
	query := machine.InstructionQuery{Limit: 500}
	for {
		page, err := m.Instructions(r.Context(), query)
		if err != nil {
			return err
		}
		for _, in := range page.Items {
			if service := naming.TypedKey(in.Code); service != "" && len(found.Items) < mostTypedKeys {
				found.Items = append(found.Items, api.TypedKey{Seq: in.Seq, Service: service})
			}
		}
		if len(page.Items) < query.Limit || len(found.Items) == mostTypedKeys {
			return writeJSON(w, http.StatusOK, found)
		}
		query.After = &page.Items[len(page.Items)-1].Seq
	}
}
