package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Settings are the contents of the settings file: JSON values by their keys. Keys that this version
// does not know are kept.
type Settings map[string]json.RawMessage

const portKey = "port"

// Port is where the daemon listened last, so that links and SDK settings outlive a restart; 0 where
// that is not known.
func (s Settings) Port() int {
	port, err := strconv.Atoi(string(s[portKey]))
	if err != nil || port < 0 || port > 65535 {
		return 0
	}
	return port
}

// SetPort keeps it.
func (s Settings) SetPort(port int) { s[portKey] = json.RawMessage(strconv.Itoa(port)) }

// ReadSettings returns the settings, empty where there are none yet. With an error, which is a
// sentence for the person, they are empty too: nothing in them is worth not starting for.
func (d Dirs) ReadSettings() (Settings, error) {
	data, err := os.ReadFile(d.SettingsFile())
	if errors.Is(err, os.ErrNotExist) {
		return Settings{}, nil
	}
	settings := Settings{}
	if err == nil {
		err = json.Unmarshal(data, &settings)
	}
	if err == nil && settings == nil {
		err = errors.New("it holds null")
	}
	if err != nil {
		return Settings{}, fmt.Errorf("the settings in %s cannot be read, so the defaults hold; mend the file or delete it: %w", d.SettingsFile(), err)
	}
	return settings, nil
}

// WriteSettings replaces the settings, all at once.
func (d Dirs) WriteSettings(settings Settings) error {
	return writeJSON(d.SettingsFile(), settings)
}
