package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/audit"
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
	s.noteSettings(r, body)
	return writeJSON(w, http.StatusOK, now)
}

// noteSettings tells rules of the network apart: they say what leaves the machines.
func (s *Server) noteSettings(r *http.Request, changes map[string]json.RawMessage) {
	var rules, others []string
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		change := key + " = " + string(changes[key])
		if strings.HasPrefix(key, "network") {
			rules = append(rules, change)
		} else {
			others = append(others, change)
		}
	}
	if len(rules) > 0 {
		s.note(r, audit.Network, "", strings.Join(rules, ", "))
	}
	if len(others) > 0 {
		s.note(r, audit.Settings, "", strings.Join(others, ", "))
	}
}
