package server

import (
	"context"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
)

// Hosted is being signed in at the hosted service; *hosted.Machines is it. Errors are those of
// package machine, as for Machines.
type Hosted interface {
	Hosted() api.Hosted
	// SignIn keeps the token in the keyring, once the service has accepted it.
	SignIn(ctx context.Context, in api.HostedLogin) (api.Hosted, error)
	// UseAccount uses another account whose token is kept.
	UseAccount(ctx context.Context, in api.HostedAccount) (api.Hosted, error)
	SignOut(ctx context.Context) (api.Hosted, error)
	SignUp(ctx context.Context, in api.HostedSignup) error
	// RemoveOfficial removes the file in which the official command line keeps the token that is
	// used.
	RemoveOfficial(ctx context.Context) error
}

func (s *Server) getHosted(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.config.Hosted.Hosted())
}

func (s *Server) hostedLogin(w http.ResponseWriter, r *http.Request) error {
	var body api.HostedLogin
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	now, err := s.config.Hosted.SignIn(r.Context(), body)
	if err != nil {
		return err
	}
	s.note(r, audit.Account, "", "signed in")
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) hostedUse(w http.ResponseWriter, r *http.Request) error {
	var body api.HostedAccount
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	now, err := s.config.Hosted.UseAccount(r.Context(), body)
	if err != nil {
		return err
	}
	s.note(r, audit.Account, "", "another account")
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) hostedLogout(w http.ResponseWriter, r *http.Request) error {
	now, err := s.config.Hosted.SignOut(r.Context())
	if err != nil {
		return err
	}
	s.note(r, audit.Account, "", "signed out")
	return writeJSON(w, http.StatusOK, now)
}

func (s *Server) hostedSignup(w http.ResponseWriter, r *http.Request) error {
	var body api.HostedSignup
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if err := s.config.Hosted.SignUp(r.Context(), body); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) removeOfficial(w http.ResponseWriter, r *http.Request) error {
	if err := s.config.Hosted.RemoveOfficial(r.Context()); err != nil {
		return err
	}
	return noContent(w)
}
