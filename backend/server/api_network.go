package server

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// networkDefault is how the API writes machine.NetworkDefault.
const networkDefault = "default"

func networkMode(mode string) machine.NetworkMode {
	if mode == networkDefault {
		return machine.NetworkDefault
	}
	return machine.NetworkMode(mode)
}

func networkJSON(p machine.NetworkPolicy) api.NetworkPolicy {
	return api.NetworkPolicy{Mode: cmp.Or(string(p.Mode), networkDefault), Hosts: p.Hosts, Approved: p.Approved}
}

func networkChange(body *api.NetworkChange) *machine.NetworkChange {
	if body == nil {
		return nil
	}
	change := &machine.NetworkChange{Hosts: body.Hosts, Approved: body.Approved}
	if body.Mode != nil {
		mode := networkMode(*body.Mode)
		change.Mode = &mode
	}
	return change
}

// networkText is a policy in one line.
func networkText(p machine.NetworkPolicy) string {
	return strings.Join(slices.Concat([]string{string(p.Mode)}, p.Hosts, p.Approved), " ")
}

func connectionJSON(c machine.Connection) api.Connection {
	return api.Connection{
		Secrets: c.Secrets,
		ID:      c.ID, Host: c.Host, Port: c.Port, Address: c.Address, Seq: c.Seq, State: string(c.State), Reason: c.Reason,
		StartedAt: c.StartedAt.UTC(), AnswerBy: utc(c.AnswerBy), EndedAt: utc(c.EndedAt), SentBytes: c.Sent, ReceivedBytes: c.Received,
	}
}

func (s *Server) getNetwork(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	state, err := m.Network(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Network{Policy: networkJSON(state.Own), Effective: networkJSON(state.Effective), Upstream: state.Upstream})
}

func (s *Server) listConnections(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	query := r.URL.Query()
	limit, err := queryInt(query, "limit", 1, 0)
	if err != nil {
		return err
	}
	q := machine.ConnectionQuery{Limit: limit}
	if cursor := query.Get("cursor"); cursor != "" {
		if q.Before, err = strconv.ParseInt(cursor, 10, 64); err != nil || q.Before <= 0 {
			return invalid("The cursor of the list is not one that was given out. List from the beginning.")
		}
	}
	found, err := m.Connections(r.Context(), q)
	if err != nil {
		return err
	}
	next := ""
	if len(found) > 0 && len(found) >= min(cmp.Or(limit, machine.DefaultConnectionLimit), machine.MaxConnectionLimit) {
		next = strconv.FormatInt(found[len(found)-1].ID, 10)
	}
	return writeJSON(w, http.StatusOK, list(found, next, connectionJSON))
}

func (s *Server) answerConnection(w http.ResponseWriter, r *http.Request, m machine.Handle) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return invalid("%q is no connection's number.", r.PathValue("id"))
	}
	var body api.Answer
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	answer := machine.Answer(body.Answer)
	if answer == machine.AllowAlways && !callerOf(r).Owner {
		return errOwnerOnly
	}
	host, err := m.Answer(r.Context(), id, answer)
	if err != nil {
		return err
	}
	s.note(r, audit.Answer, m.Name(), string(answer)+": "+host)
	return noContent(w)
}
