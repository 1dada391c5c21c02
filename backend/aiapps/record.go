package aiapps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/home"
)

// connection is what was put into one file, so that it can be taken out again to the byte.
type connection struct {
	App string    `json:"app"`
	Key string    `json:"key"` // of the entry
	At  time.Time `json:"at"`
	// Done is false while the file is being written: then it may hold the entry or not.
	Done   bool              `json:"done"`
	Before string            `json:"before"` // digest of the file; "" where there was none
	After  string            `json:"after"`
	Change configfile.Change `json:"change"`
	// Previous is the entry of the same name that was replaced, in a file of its own; "" for none.
	Previous string   `json:"previous,omitempty"`
	Folders  []string `json:"folders,omitempty"` // that were made for the file, outermost first
}

// connections are all, by the paths of their files.
type connections map[string]connection

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (m *Manager) recordFile() string { return filepath.Join(m.config.Folder, "connections.json") }

// records reads what was recorded. What cannot be read counts as nothing: entries are recognised
// without it.
func (m *Manager) records() (connections, error) {
	records := connections{}
	data, err := os.ReadFile(m.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return records, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &records)
	}
	if err != nil || records == nil {
		return connections{}, fmt.Errorf("what ForeverVM has noted about AI apps in %s cannot be read; delete that file (entries are then taken out without it): %w", m.recordFile(), err)
	}
	return records, nil
}

// record notes a connection, or forgets one that is nil.
func (m *Manager) record(path string, c *connection) error {
	records, err := m.records()
	if err != nil {
		return err
	}
	if c == nil {
		delete(records, path)
	} else {
		records[path] = *c
	}
	data, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return err
	}
	return home.WritePrivate(m.recordFile(), append(data, '\n'))
}

// kept is where in a file of its own an entry is kept, as the app writes it.
func kept(app App) configfile.List {
	list := app.List
	list.Items, list.Start = false, ""
	return list
}

// keepEntry writes an entry so that keptEntry can read it.
func keepEntry(app App, entry configfile.Object) (string, error) {
	if app.List.Items { // whose name is in it
		entry = slices.DeleteFunc(slices.Clone(entry), func(m configfile.Member) bool { return m.Key == "name" })
	}
	text, err := kept(app).Set(nil, Key, entry)
	return string(text), err
}

func keptEntry(app App, text string) (configfile.Object, bool) {
	servers, err := kept(app).Servers([]byte(text))
	if err != nil || len(servers) != 1 {
		return nil, false
	}
	return servers[0].Entry, true
}
