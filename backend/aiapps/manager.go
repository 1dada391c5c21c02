package aiapps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Config says what a Manager works on.
type Config struct {
	Computer Computer
	Server   Server // what apps are to start
	// Folder is for what is kept about connections and for backups. It is made when needed, for the
	// user alone.
	Folder string
	// Extension is the file of Claude Desktop's extension; it may be missing.
	Extension string
	Now       func() time.Time // nil: time.Now
}

// Manager connects the AI apps of one computer. Several may work over the same folder, in several
// processes.
type Manager struct{ config Config }

// New returns a manager; it looks at nothing yet.
func New(config Config) *Manager {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Manager{config}
}

func (m *Manager) app(id string) (App, error) {
	app, ok := Find(id)
	if !ok {
		var ids []string
		for _, known := range Apps {
			ids = append(ids, known.ID)
		}
		return App{}, &Error{Kind: ErrUnknown, Message: fmt.Sprintf("There is no app %q; these are known: %s.", id, strings.Join(ids, ", "))}
	}
	return app, nil
}

// lock keeps other processes of ours away until it is given back.
func (m *Manager) lock() (unlock func(), err error) {
	if err := os.MkdirAll(m.config.Folder, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(m.config.Folder, "lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, &Error{Kind: ErrFile, Cause: err, Message: "Nothing was changed: another ForeverVM is changing an app's settings and does not come to an end. Wait, or end it, and try again."}
	}
	return func() { _ = lock.Unlock() }, nil
}
