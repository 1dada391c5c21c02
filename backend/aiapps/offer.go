package aiapps

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/opener"
)

// Offer has an app ask the person itself whether to connect: it opens the app's link, or the
// extension for one that takes extensions, and returns what was opened. None of the app's files is
// changed by ForeverVM.
func (m *Manager) Offer(ctx context.Context, id string) (opened string, err error) {
	app, err := m.app(id)
	if err != nil {
		return "", err
	}
	if !m.config.Computer.installed(app) {
		return "", notInstalled(app)
	}
	switch {
	case app.Link != nil:
		opened = app.Link(m.config.Server)
	case app.Extensions == "":
		return "", &Error{Kind: ErrNoOffer, Message: fmt.Sprintf("%s has no way to ask you itself; `forevervm connect %s` adds the entry to its settings.", app.Name, app.ID)}
	default:
		opened = m.config.Extension
		if _, err := os.Stat(opened); err != nil {
			return "", &Error{Kind: ErrNoOffer, Cause: err, Message: fmt.Sprintf("The extension for %s is missing (%s); install ForeverVM again, or use `forevervm connect %s`.", app.Name, opened, app.ID)}
		}
	}
	if app.Link == nil {
		if err := m.noteOffer(app); err != nil {
			return "", m.explain(app, m.config.Folder, err)
		}
	}
	switch err := m.config.Computer.Open(ctx, opened); {
	case errors.Is(err, opener.ErrNoDisplay):
		return "", &Error{Kind: ErrNoOffer, Cause: err, Message: fmt.Sprintf("Nothing can be opened from here, as this program was not started on a desktop. Open this yourself: %s", opened)}
	case err != nil:
		return "", &Error{Kind: ErrNoOffer, Cause: err, Message: fmt.Sprintf("%s could not be reached (%v). `forevervm connect %s` adds the entry to its settings.", app.Name, err, app.ID)}
	}
	return opened, nil
}

// Ask opens an app with a prompt in it, which the person then sends or not. It returns an
// ErrNoOffer where that cannot be done.
func (m *Manager) Ask(ctx context.Context, id, prompt string) error {
	app, err := m.app(id)
	if err != nil {
		return err
	}
	if !m.config.Computer.installed(app) {
		return notInstalled(app)
	}
	if app.Prompt == nil {
		return &Error{Kind: ErrNoOffer, Message: app.Name + " takes no prompts from other programs. Copy the prompt, and paste it there."}
	}
	if err := m.config.Computer.Open(ctx, app.Prompt(prompt)); err != nil {
		return &Error{Kind: ErrNoOffer, Cause: err, Message: fmt.Sprintf("%s was not opened (%v). Start it, and paste the prompt there.", app.Name, err)}
	}
	return nil
}

// installsWithin is how long a person may take to install the extension. Claude Desktop at times
// shows nothing, or does not come to an end.
const installsWithin = 3 * time.Minute

// offerHolds is how long an extension that was not installed is told of: the person may not want
// it.
const offerHolds = 24 * time.Hour

func (m *Manager) offerFile(app App) string {
	return filepath.Join(m.config.Folder, "offered-"+app.ID)
}

// noteOffer notes that an app is given the extension now.
func (m *Manager) noteOffer(app App) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return home.WritePrivate(m.offerFile(app), []byte(m.config.Now().UTC().Format(time.RFC3339)))
}

// forgetOffer notes that an app is not given the extension any more: it is connected another way,
// or the connection is not wanted.
func (m *Manager) forgetOffer(app App) error {
	if err := os.Remove(m.offerFile(app)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// waitsForExtension says whether an app was given the extension a while ago and has not installed
// it.
func (m *Manager) waitsForExtension(app App) bool {
	text, err := os.ReadFile(m.offerFile(app))
	if err != nil {
		return false
	}
	at, err := time.Parse(time.RFC3339, string(text))
	age := m.config.Now().Sub(at)
	return err == nil && age >= installsWithin && age < offerHolds && !m.config.Computer.hasExtension(app)
}

// Offers says what Offer opens: a "link", an "extension", or "" for nothing.
func (a App) Offers() string {
	switch {
	case a.Link != nil:
		return "link"
	case a.Extensions != "":
		return "extension"
	}
	return ""
}

// hasExtension says whether an app has our extension: each is in a folder of its own, with its
// manifest.
func (c Computer) hasExtension(app App) bool {
	if app.Extensions == "" {
		return false
	}
	return slices.ContainsFunc(c.places(app), func(at place) bool {
		folder := os.DirFS(filepath.Dir(at.file))
		manifests, _ := fs.Glob(folder, app.Extensions+"/*/manifest.json") // the table's patterns are well formed
		return slices.ContainsFunc(manifests, func(path string) bool {
			var manifest struct{ Name string }
			data, err := fs.ReadFile(folder, path)
			return err == nil && json.Unmarshal(data, &manifest) == nil && manifest.Name == Key
		})
	})
}

// claudePrompt begins a chat ("Open Claude Desktop with a link", support.claude.com).
func claudePrompt(prompt string) string { return "claude://claude.ai/new?q=" + escape(prompt) }

// cursorPrompt begins a chat ("Deeplinks", cursor.com/docs).
func cursorPrompt(prompt string) string {
	return "cursor://anysphere.cursor-deeplink/prompt?text=" + escape(prompt)
}

// escape writes a value into an address. Not every program takes + for a space.
func escape(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

func cursorLink(s Server) string {
	return "cursor://anysphere.cursor-deeplink/mcp/install?" + linkQuery(s)
}

func lmStudioLink(s Server) string { return "lmstudio://add_mcp?" + linkQuery(s) }

func linkQuery(s Server) string {
	return url.Values{"name": {Key}, "config": {base64.StdEncoding.EncodeToString([]byte(configfile.Text(stdio(s))))}}.Encode()
}

// codeLink is the link of an editor whose addresses begin so.
func codeLink(scheme string) func(Server) string {
	return func(s Server) string {
		entry := append(configfile.Object{{Key: "name", Value: Key}}, typed(s)...)
		return scheme + ":mcp/install?" + strings.ReplaceAll(url.QueryEscape(configfile.Text(entry)), "+", "%20")
	}
}
