package app

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/forevervm/desktop/app/autostart"
	"github.com/forevervm/desktop/app/downloads"
	"github.com/forevervm/desktop/app/overview"
	"github.com/forevervm/desktop/backend/client"
)

// findWithin bounds the search for the daemon, its start included.
const findWithin = 90 * time.Second

// Bridge is what the page can ask of the window.
type Bridge struct {
	daemon  *client.Client
	window  *window
	login   autostart.Entry
	changed func() // the tray shows whether the program starts at login, too
	saving  *downloads.Downloads
	speak   func(language string)
	unseen  func(steps map[string]int)
}

// Connection says where the daemon is and what opens it; frontend/src/lib/api/connection.ts reads
// it.
type Connection struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// Connection finds the daemon, which answers when it returns; one that is not there is started. The
// page asks again whenever it has lost the daemon. The error is a sentence for the person.
func (b *Bridge) Connection() (Connection, error) {
	window := b.window.context()
	if window == nil {
		return Connection{}, errNoWindow
	}
	ctx, cancel := context.WithTimeout(window, findWithin)
	defer cancel()
	return find(ctx, b.daemon)
}

func find(ctx context.Context, daemon *client.Client) (Connection, error) {
	// Asking for its state finds a daemon that has moved, and starts one that has gone, however
	// long that takes.
	if _, err := daemon.Status(ctx); err != nil {
		return Connection{}, errors.New(sentence(err))
	}
	at, err := daemon.Endpoint(ctx)
	if err != nil {
		return Connection{}, errors.New(sentence(err))
	}
	return Connection{URL: at.URL, Token: at.Token}, nil
}

// Speak has the tray and its notifications say what they say in the page's language, such as "de",
// now and at the next start.
func (b *Bridge) Speak(language string) { b.speak(language) }

// Unseen has the tray show how many steps of each machine the person has not seen, by the machine's
// ID.
func (b *Bridge) Unseen(steps map[string]int) { b.unseen(steps) }

// StartsAtLogin says whether the program is started when the person logs in.
func (b *Bridge) StartsAtLogin() (bool, error) {
	on, err := b.login.On()
	if err != nil {
		return false, errors.New(sentence(err))
	}
	return on, nil
}

// StartAtLogin has the program started when the person logs in, or no longer.
func (b *Bridge) StartAtLogin(on bool) error {
	defer b.changed()
	if err := b.login.Set(on); err != nil {
		return errors.New(sentence(err))
	}
	return nil
}

// ChooseFolder has the person choose a folder of this computer, and returns its path; empty where
// they chose none.
func (b *Bridge) ChooseFolder(title string) (string, error) {
	window := b.window.context()
	if window == nil {
		return "", errNoWindow
	}
	path, err := runtime.OpenDirectoryDialog(window, runtime.OpenDialogOptions{Title: title, CanCreateDirectories: true})
	if err != nil {
		return "", errors.New(sentence(err))
	}
	return path, nil
}

// SaveBegin begins a file that the page saves; see package downloads. The page sends it in parts,
// as what the bridge carries is in memory several times.
func (b *Bridge) SaveBegin(name string) (id int, err error) {
	id, err = b.saving.Begin(name)
	return id, unsaved(err)
}

// SavePart adds to it; part is in base64.
func (b *Bridge) SavePart(id int, part []byte) error { return unsaved(b.saving.Append(id, part)) }

// SaveEnd returns the path of the file, which is there now.
func (b *Bridge) SaveEnd(id int) (path string, err error) {
	path, err = b.saving.Finish(id)
	return path, unsaved(err)
}

// SaveCancel removes what was begun.
func (b *Bridge) SaveCancel(id int) error { return unsaved(b.saving.Cancel(id)) }

func unsaved(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("The file was not saved, as the disk is full. Free some room and save it again.")
	}
	return fmt.Errorf("The file was not saved: %w.", err)
}

// sentence writes an error as one.
func sentence(err error) string { return overview.Sentence(err.Error()) }
