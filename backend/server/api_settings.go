package server

import (
	"encoding/json"
	"net/http"

	"github.com/forevervm/desktop/backend/api"
)

// Settings are what the person may set; the daemon keeps them.
type Settings interface {
	Settings() api.Settings
	// ChangeSettings sets some by their keys, all or nothing, and returns all; null returns one to
	// its default.
	ChangeSettings(changes map[string]json.RawMessage) (api.Settings, error)
}

func (s *Server) getSettings(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.config.Settings.Settings())
}

func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) error {
	var body map[string]json.RawMessage
	if err := readAs(nil, w, r, &body); err != nil {
		return err
	}
	if body == nil {
		return invalid("The request is wrong: it must be an object of settings.")
	}
	now, err := s.config.Settings.ChangeSettings(body)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, now)
}
