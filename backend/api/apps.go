package api

import "time"

// App is an AI app, and whether it is connected.
type App struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Installed bool      `json:"installed"`
	Running   bool      `json:"running"`
	State     string    `json:"state"` // connected, not connected, outdated, wiped, official, taken, broken
	Files     []AppFile `json:"files"` // where it lists its MCP servers; none where it is not installed
}

// AppFile is a file in which an app lists its MCP servers; it need not exist.
type AppFile struct {
	Path    string `json:"path"`
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"` // a sentence, where the state is broken
}

// AppReport says what became of an app that was to be connected, disconnected, repaired or restored.
type AppReport struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Changes []AppChange `json:"changes"`
	Running bool        `json:"running"`        // it runs, and does not know of the change yet
	Next    string      `json:"next,omitempty"` // what the person does now, a sentence
}

// AppChange is what became of one file.
type AppChange struct {
	Path       string `json:"path"`
	Action     string `json:"action"`     // nothing, added, updated, replaced, removed, put back, deleted file, restored
	Difference string `json:"difference"` // line by line; values that are not ForeverVM's are hidden
}

// AppBackup is a copy of an app's file.
type AppBackup struct {
	ID   string    `json:"id"`
	Path string    `json:"path"` // of the file that it is a copy of
	At   time.Time `json:"at"`
	Size int64     `json:"size"`
}
