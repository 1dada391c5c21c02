package api

import "time"

// App is an AI app, and whether it is connected.
type App struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Installed bool      `json:"installed"`
	Running   bool      `json:"running"`
	State     string    `json:"state"` // connected, extension, not connected, outdated, wiped, official, taken, broken
	Files     []AppFile `json:"files"` // where it lists its MCP servers; none where it is not installed
	Seen      *AppSeen  `json:"seen,omitempty"`
	Restarts  bool      `json:"restarts"`         // it can be quit for a change and started again, and had better be
	Offers    string    `json:"offers,omitempty"` // how it asks the person itself: link, extension
}

// AppSeen says that an app has really connected: it was heard from over MCP.
type AppSeen struct {
	At      time.Time `json:"at"` // the last time
	Version string    `json:"version,omitempty"`
	Calls   int       `json:"calls"` // of tools
}

// ClientUse is a program that uses machines, by the name that it gives itself.
type ClientUse struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	SeenAt  time.Time `json:"seen_at"`
	Calls   int       `json:"calls"` // of tools, over MCP
}

// Hello is the body of POST /api/clients.
type Hello struct {
	Calls int `json:"calls,omitempty"` // of tools, since the last time that some were told of
}

// ChangeApp is the body of POST /api/apps/{id}/connect, …/disconnect and …/repair.
type ChangeApp struct {
	Replace bool `json:"replace,omitempty"` // another server of the same name may be replaced
	DryRun  bool `json:"dry_run,omitempty"` // only say what would change
	Restart bool `json:"restart,omitempty"` // an app that runs may be quit for the change, and is started again
}

// AppOffer says what was opened, so that an app asks the person itself: a link, or the file of an extension.
type AppOffer struct {
	Opened string `json:"opened"`
}

// RestoreApp is the body of POST /api/apps/{id}/restore.
type RestoreApp struct {
	Backup string `json:"backup"`
}

// AppTest says that an app's entry works: its command was started as the app does, and answered.
type AppTest struct {
	Version string  `json:"version"` // of what answered
	Tools   int     `json:"tools"`   // how many it offers
	TookMS  float64 `json:"took_ms"` // from start to the answer of a tool
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
	Next    string      `json:"next,omitempty"` // what the person does now, a sentence; absent where the app does not run
	// Restarted says that it was quit for the change and started again.
	Restarted bool `json:"restarted"`
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
