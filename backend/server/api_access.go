package server

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
)

func grantJSON(g access.Grant) api.Grant {
	var used *time.Time
	if !g.UsedOn.IsZero() {
		used = &g.UsedOn
	}
	return api.Grant{ID: g.ID, Kind: string(g.Kind), Name: g.Name, MadeAt: g.MadeAt, UsedOn: used, Revoked: g.Revoked}
}

func (s *Server) listTokens(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, list(s.config.Keys.List(), "", grantJSON))
}

func (s *Server) newToken(w http.ResponseWriter, r *http.Request) error {
	var body api.NewToken
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	grant, token, err := s.config.Keys.New(body.Name)
	if errors.Is(err, access.ErrName) {
		return invalid("Give the token a name of 1 to 60 letters that no other token has.")
	}
	if err != nil {
		return err
	}
	s.note(r, audit.Token, "", "made: "+grant.Name)
	return writeJSON(w, http.StatusOK, api.MadeToken{Grant: grantJSON(grant), Token: token})
}

func (s *Server) allowToken(w http.ResponseWriter, r *http.Request) error {
	var body api.AllowToken
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	grant, err := s.config.Keys.Allow(r.PathValue("id"), body.Allowed)
	if errors.Is(err, access.ErrUnknown) {
		return &failure{http.StatusNotFound, "TokenNotFound", "There is no such token. It may have been revoked."}
	}
	if err != nil {
		return err
	}
	what := "revoked: "
	if body.Allowed {
		what = "allowed: "
	}
	s.note(r, audit.Token, "", what+grant.Name)
	return writeJSON(w, http.StatusOK, grantJSON(grant))
}

// How many entries a part of the record has.
const (
	usualEntries = 100
	mostEntries  = 500
)

func (s *Server) listRecord(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := queryInt(query, "limit", 0, usualEntries)
	if err != nil {
		return err
	}
	limit = min(cmp.Or(limit, usualEntries), mostEntries)
	before := int64(0)
	if cursor := query.Get("cursor"); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
			return invalid("The cursor of the list is not one that was given out. List from the beginning.")
		}
	}
	found, err := s.config.Record.List(before, limit)
	if err != nil {
		return err
	}
	page := api.Record{Items: []api.RecordEntry{}, Head: found.Head, Broken: found.Broken}
	for _, e := range found.Entries {
		page.Items = append(page.Items, api.RecordEntry{
			N: e.N, At: e.At, Action: string(e.Action), By: e.By, Program: e.Program, Machine: e.Machine, About: e.About,
		})
	}
	if last := len(page.Items) - 1; len(page.Items) == limit && page.Items[last].N > 1 {
		page.Next = strconv.FormatInt(page.Items[last].N, 10)
	}
	return writeJSON(w, http.StatusOK, page)
}

// note puts into the record what a request has just done. What is done stays done where the record
// cannot be written: the log tells.
func (s *Server) note(r *http.Request, action audit.Action, machine, about string) {
	if s.config.Record == nil {
		return
	}
	entry := audit.Entry{Action: action, By: callerOf(r).Name, Program: clientOf(r).Name, Machine: machine, About: about}
	if err := s.config.Record.Add(entry); err != nil {
		s.config.Logger.Error("the record misses an entry", "action", action, "err", err)
	}
}
