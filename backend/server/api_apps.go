package server

import (
	"context"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/forevervm/desktop/backend/aiapps"
	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
	"github.com/forevervm/desktop/backend/machine"
)

// Apps is what the server needs of the AI apps on this computer; *aiapps.Manager is it. Its errors
// are *aiapps.Error.
type Apps interface {
	Status(ids ...string) ([]aiapps.AppStatus, error)
	Connect(id string, options aiapps.Options) (aiapps.Report, error)
	Disconnect(id string, options aiapps.Options) (aiapps.Report, error)
	Repair(id string, options aiapps.Options) (aiapps.Report, error)
	Offer(ctx context.Context, id string) (opened string, err error)
	Ask(ctx context.Context, id, prompt string) error
	Test(ctx context.Context, id string) (api.AppTest, error)
	Backups(id string) ([]aiapps.Backup, error)
	Restore(id, backup string) (aiapps.Report, error)
}

func (s *Server) apps() (Apps, error) {
	if s.config.Apps == nil {
		return nil, &failure{http.StatusServiceUnavailable, "AppsUnavailable", "The daemon was started in a way in which it knows no AI apps; its log says why. `forevervm apps` in a terminal of yours does."}
	}
	return s.config.Apps, nil
}

// hello is what the bridge of an AI app says when the app has connected and when it has called
// tools, under the app's name.
func (s *Server) hello(w http.ResponseWriter, r *http.Request) error {
	var body api.Hello
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if body.Calls < 0 || body.Calls > mostCalls {
		return invalid("calls is between 0 and %d.", mostCalls)
	}
	if err := s.config.Machines.Hello(r.Context(), clientOf(r), body.Calls); err != nil {
		return err
	}
	return noContent(w)
}

// mostCalls is how many calls may be told of at once.
const mostCalls = 1_000_000

func (s *Server) listClients(w http.ResponseWriter, r *http.Request) error {
	clients, err := s.clients(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.List[api.ClientUse]{Items: clients})
}

func (s *Server) clients(ctx context.Context) ([]api.ClientUse, error) {
	all, err := s.config.Machines.Clients(ctx)
	out := []api.ClientUse{}
	for _, c := range all {
		out = append(out, clientJSON(c))
	}
	return out, err
}

func clientJSON(c machine.ClientUse) api.ClientUse {
	return api.ClientUse{Name: c.Client.Name, Version: c.Client.Version, SeenAt: c.SeenAt.UTC(), Calls: c.Calls}
}

func (s *Server) listApps(w http.ResponseWriter, r *http.Request) error {
	clients, err := s.clients(r.Context())
	if err != nil {
		return err
	}
	known, err := s.apps()
	if err != nil {
		return err
	}
	all, err := known.Status()
	if err != nil {
		return appFailure(err)
	}
	apps := []api.App{}
	for _, status := range all {
		apps = append(apps, status.Document(clients))
	}
	return writeJSON(w, http.StatusOK, api.List[api.App]{Items: apps})
}

func (s *Server) connectApp(w http.ResponseWriter, r *http.Request) error {
	return s.changeApp(w, r, Apps.Connect, audit.Connect)
}

func (s *Server) disconnectApp(w http.ResponseWriter, r *http.Request) error {
	return s.changeApp(w, r, Apps.Disconnect, audit.Disconnect)
}

func (s *Server) repairApp(w http.ResponseWriter, r *http.Request) error {
	return s.changeApp(w, r, Apps.Repair, audit.Connect)
}

// changeApp changes the settings of one app.
func (s *Server) changeApp(w http.ResponseWriter, r *http.Request, change func(Apps, string, aiapps.Options) (aiapps.Report, error), action audit.Action) error {
	var body api.ChangeApp
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	apps, err := s.apps()
	if err != nil {
		return err
	}
	report, err := change(apps, r.PathValue("id"), aiapps.Options{Replace: body.Replace, DryRun: body.DryRun, Restart: body.Restart, Skill: body.Skill})
	if err != nil {
		return appFailure(err)
	}
	if !body.DryRun {
		s.note(r, action, "", r.PathValue("id"))
	}
	return writeJSON(w, http.StatusOK, report.Document())
}

func (s *Server) offerApp(w http.ResponseWriter, r *http.Request) error {
	apps, err := s.apps()
	if err != nil {
		return err
	}
	opened, err := apps.Offer(r.Context(), r.PathValue("id"))
	if err != nil {
		return appFailure(err)
	}
	return writeJSON(w, http.StatusOK, api.AppOffer{Opened: opened})
}

// maxPrompt is in characters. Windows gives a program 32,767 for its command line, and a character
// may take twelve of them in an address.
const maxPrompt = 2500

func (s *Server) askApp(w http.ResponseWriter, r *http.Request) error {
	if !isHere(r) {
		return &failure{http.StatusForbidden, "NotHere", "Apps of this computer are opened at this computer alone, in ForeverVM's window there."}
	}
	var body api.AppPrompt
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(body.Prompt); n == 0 || n > maxPrompt {
		return machine.Invalid("A prompt has 1 to %d characters; this one has %d.", maxPrompt, n)
	}
	apps, err := s.apps()
	if err != nil {
		return err
	}
	if err := apps.Ask(r.Context(), r.PathValue("id"), body.Prompt); err != nil {
		return appFailure(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) testApp(w http.ResponseWriter, r *http.Request) error {
	apps, err := s.apps()
	if err != nil {
		return err
	}
	result, err := apps.Test(r.Context(), r.PathValue("id"))
	if err != nil {
		return appFailure(err)
	}
	return writeJSON(w, http.StatusOK, result)
}

func (s *Server) listAppBackups(w http.ResponseWriter, r *http.Request) error {
	apps, err := s.apps()
	if err != nil {
		return err
	}
	all, err := apps.Backups(r.PathValue("id"))
	if err != nil {
		return appFailure(err)
	}
	backups := []api.AppBackup{}
	for _, backup := range all {
		backups = append(backups, backup.Document())
	}
	return writeJSON(w, http.StatusOK, api.List[api.AppBackup]{Items: backups})
}

func (s *Server) restoreApp(w http.ResponseWriter, r *http.Request) error {
	var body api.RestoreApp
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	apps, err := s.apps()
	if err != nil {
		return err
	}
	report, err := apps.Restore(r.PathValue("id"), body.Backup)
	if err != nil {
		return appFailure(err)
	}
	s.note(r, audit.Connect, "", r.PathValue("id")+": earlier settings")
	return writeJSON(w, http.StatusOK, report.Document())
}

// appKinds are the errors of package aiapps that a person can act on.
var appKinds = []struct {
	kind   error
	status int
	code   string
}{
	{aiapps.ErrUnknown, http.StatusNotFound, "AppNotFound"},
	{aiapps.ErrNotInstalled, http.StatusConflict, "AppNotInstalled"},
	{aiapps.ErrNotConnected, http.StatusConflict, "AppNotConnected"},
	{aiapps.ErrMustAsk, http.StatusConflict, "AppHasAnother"},
	{aiapps.ErrFile, http.StatusConflict, "AppFile"},
	{aiapps.ErrRuns, http.StatusConflict, "AppRuns"},
	{aiapps.ErrNoOffer, http.StatusConflict, "AppHasNoOffer"},
}

func appFailure(err error) error {
	for _, known := range appKinds {
		if errors.Is(err, known.kind) {
			return &failure{known.status, known.code, err.Error()}
		}
	}
	return err
}
