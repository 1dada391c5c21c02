package app

import (
	"encoding/json"
	"os"

	"github.com/forevervm/desktop/backend/home"
)

// remembered is what the window knows of earlier times.
type remembered struct {
	ToldOfTray bool   `json:"told_of_tray"` // the person knows that closing the window leaves the icon
	Language   string `json:"language"`     // the page's, such as "de"; "" until it has told
}

// recall is what is remembered; a file that cannot be read holds nothing.
func recall(dirs home.Dirs) remembered {
	var r remembered
	if data, err := os.ReadFile(dirs.WindowFile()); err == nil {
		_ = json.Unmarshal(data, &r)
	}
	return r
}

func (r remembered) keep(dirs home.Dirs) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return home.WritePrivate(dirs.WindowFile(), append(data, '\n'))
}
