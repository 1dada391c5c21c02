package aiapps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// Config says what a Manager works on.
type Config struct {
	Computer Computer
	Server   Server // what apps are to start
	// Folder is for what is kept about connections and for backups. It is made when needed, for the user alone.
	Folder string
	Now    func() time.Time // nil: time.Now
}

// Manager connects the AI apps of one computer. Several may work over the same folder, in several processes.
type Manager struct{ config Config }

// New returns a manager; it looks at nothing yet.
func New(config Config) *Manager {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Manager{config}
}

// The kinds of an Error.
var (
	ErrUnknown      = errors.New("there is no such app or backup")
	ErrNotInstalled = errors.New("the app is not installed")
	ErrNotConnected = errors.New("the app is not connected")
	ErrMustAsk      = errors.New("the person must be asked first") // Options.Replace says that they were
	ErrFile         = errors.New("the app's file cannot be changed")
)

// Error is what a person is told: what happened, what it means, and what to do.
type Error struct {
	Kind    error
	Message string // a sentence or two
	Cause   error  // may be nil
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives kind and cause to errors.Is.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// State says how an app, or one of its files, stands.
type State string

// The states. Where an app has several files, its own state is the one that asks for most.
const (
	Broken       State = "broken"        // the file cannot be read or parsed
	Wiped        State = "wiped"         // the app, or a person, took out what was connected
	Outdated     State = "outdated"      // the entry is ours, but starts another program, or is switched off
	Taken        State = "taken"         // another server has the entry's name
	Official     State = "official"      // the entry starts the official server, which runs code elsewhere
	NotConnected State = "not connected" // there is no entry
	Connected    State = "connected"
)

var urgency = []State{Broken, Wiped, Outdated, Taken, Official, NotConnected, Connected}

// AppStatus is how an app stands.
type AppStatus struct {
	App       App
	Installed bool
	Running   bool
	State     State
	Files     []FileStatus
}

// FileStatus is how one of its files stands.
type FileStatus struct {
	Path    string
	State   State
	Problem string // a sentence, where State is Broken
}

// Options are what may be said of a change.
type Options struct {
	Replace bool // another server of the same name may be replaced; it is put back by Disconnect
	DryRun  bool // only say what would change
}

// Action is what was done, or would be, to a file.
type Action string

// The actions.
const (
	Nothing     Action = "nothing"
	Added       Action = "added"
	Updated     Action = "updated"
	Replaced    Action = "replaced" // another server's entry
	Removed     Action = "removed"
	PutBack     Action = "put back"     // what was replaced
	DeletedFile Action = "deleted file" // that was made for the entry, and holds nothing else
	Restored    Action = "restored"     // from a backup
)

// Change is what became of one file.
type Change struct {
	Path   string
	Action Action
	// Difference shows it line by line; values that are not ours are hidden.
	Difference string
}

// Report is what became of an app.
type Report struct {
	App     App
	Changes []Change
	Running bool   // the app runs, so it does not know of it yet
	Next    string // what the person does now, a sentence; "" for nothing, as the app does not run
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

// Status says how all apps stand, or only some by their IDs.
func (m *Manager) Status(ids ...string) ([]AppStatus, error) {
	records, recordsErr := m.records()
	running, err := m.config.Computer.Programs()
	if err != nil {
		running = nil // it is then not known; nothing depends on it
	}
	apps := Apps
	if len(ids) > 0 {
		apps = nil
		for _, id := range ids {
			app, err := m.app(id)
			if err != nil {
				return nil, err
			}
			apps = append(apps, app)
		}
	}
	var all []AppStatus
	for _, app := range apps {
		status := AppStatus{
			App: app, Installed: m.config.Computer.installed(app), Running: m.config.Computer.runs(app, running), State: NotConnected,
		}
		if status.Installed {
			for _, at := range m.config.Computer.places(app) {
				status.Files = append(status.Files, m.look(app, at.file, records))
			}
		}
		for _, state := range slices.Backward(urgency) {
			if slices.ContainsFunc(status.Files, func(f FileStatus) bool { return f.State == state }) {
				status.State = state
			}
		}
		all = append(all, status)
	}
	return all, recordsErr
}

// look says how one file stands.
func (m *Manager) look(app App, path string, records connections) FileStatus {
	status := FileStatus{Path: path}
	file, err := safefile.Read(path)
	var found entries
	if err == nil {
		found, err = m.entries(app, file.Data)
	}
	if err != nil {
		status.State, status.Problem = Broken, m.explain(app, path, err).Error()
		return status
	}
	record, recorded := records[path]
	switch {
	case found.ours != nil && m.good(found.ours.Entry):
		status.State = Connected
	case found.ours != nil:
		status.State = Outdated
	case recorded && record.Done: // whatever is in the file: apps write back what they had in memory
		status.State = Wiped
	case found.named == nil:
		status.State = NotConnected
	case isOfficial(found.named.Entry):
		status.State = Official
	default:
		status.State = Taken
	}
	return status
}

// good says whether an entry of ours does what it shall.
func (m *Manager) good(entry configfile.Object) bool {
	return same(entry, m.config.Server) && !off(entry)
}

// entries are those of a list that matter.
type entries struct {
	ours  *configfile.Server // that starts this program, whatever its name
	named *configfile.Server // that has our name, whatever it starts
}

func (m *Manager) entries(app App, data []byte) (entries, error) {
	servers, err := app.List.Servers(data)
	var found entries
	for i, s := range servers {
		if s.Name == Key {
			found.named = &servers[i]
		}
		if isOurs(s.Entry) && (found.ours == nil || s.Name == Key) {
			found.ours = &servers[i]
		}
	}
	return found, err
}

// Connect puts the entry into every file of an app, or brings it up to date.
func (m *Manager) Connect(id string, options Options) (Report, error) {
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) { return m.connect(app, now, options.Replace) }
	})
}

// Repair does so for an app that was connected: its entry was taken out, or starts a program that is no longer there.
func (m *Manager) Repair(id string, options Options) (Report, error) {
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) {
			found, err := m.entries(app, now.data)
			if err != nil {
				return outcome{}, err
			}
			if found.ours == nil && now.record == nil {
				return outcome{}, &Error{Kind: ErrNotConnected, Message: fmt.Sprintf("%s was not connected, so there is nothing to repair; `forevervm connect %s` connects it.", app.Name, app.ID)}
			}
			return m.connect(app, now, options.Replace)
		}
	})
}

// Disconnect takes the entry out of every file of an app. A file where nothing else has changed is again what it was, to the byte.
func (m *Manager) Disconnect(id string, options Options) (Report, error) {
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) { return m.disconnect(app, now) }
	})
}

// current is a file as it is, with what was recorded about it.
type current struct {
	exists bool
	data   []byte
	record *connection // nil for none
}

// outcome is a file as it is to be.
type outcome struct {
	action Action
	data   []byte
	gone   bool        // no file
	own    string      // what of the difference is our own
	record *connection // nil for none
}

// edit makes one of the other. It is called again where the file changed meanwhile.
type edit func(current) (outcome, error)

func (m *Manager) connect(app App, now current, replace bool) (outcome, error) {
	found, err := m.entries(app, now.data)
	if err != nil {
		return outcome{}, err
	}
	if found.ours != nil && m.good(found.ours.Entry) {
		return outcome{action: Nothing, data: now.data, gone: !now.exists, record: now.record}, nil
	}
	key, entry, action := Key, app.Entry(m.config.Server), Added
	base := outcome{data: now.data, gone: !now.exists}
	if found.ours != nil {
		if base, err = m.withoutOurs(app, now, found.ours.Name); err != nil {
			return outcome{}, err
		}
		key, action = found.ours.Name, Updated
		entry = withExtras(entry, found.ours.Entry)
		replace = true // what is under it now was replaced with the person's consent
	}
	record := &connection{App: app.ID, Key: key, At: m.config.Now().UTC()}
	before, err := m.entries(app, base.data)
	if err != nil {
		return outcome{}, err
	}
	if found.ours == nil && before.named != nil {
		action = Replaced
	}
	if before.named != nil && key == Key {
		if !replace {
			return outcome{}, m.ask(app, *before.named)
		}
		if record.Previous, err = keepEntry(before.named.Entry); err != nil {
			return outcome{}, err
		}
	}
	data, err := app.List.Set(base.data, key, entry)
	if err != nil {
		return outcome{}, err
	}
	record.Change = configfile.Between(base.data, data)
	record.After = digest(data)
	if !base.gone {
		record.Before = digest(base.data)
	}
	if now.record != nil && found.ours != nil {
		record.Folders = now.record.Folders
	}
	return outcome{action: action, data: data, own: record.Change.Inserted, record: record}, nil
}

// ask says that another server has the name.
func (m *Manager) ask(app App, named configfile.Server) error {
	if isOfficial(named.Entry) {
		return &Error{Kind: ErrMustAsk, Message: app.Name + " is connected to the hosted ForeverVM service (npx forevervm-mcp). To run code on this computer " +
			"instead, replace that entry (`--replace`); disconnecting puts it back."}
	}
	return &Error{Kind: ErrMustAsk, Message: fmt.Sprintf("%s has another server named %q already. Rename that one, or replace it (`--replace`); disconnecting puts it back.", app.Name, Key)}
}

func (m *Manager) disconnect(app App, now current) (outcome, error) {
	found, err := m.entries(app, now.data)
	if err != nil {
		return outcome{}, err
	}
	if found.ours == nil {
		return outcome{action: Nothing, data: now.data, gone: !now.exists}, nil
	}
	result, err := m.withoutOurs(app, now, found.ours.Name)
	if err == nil && now.record != nil {
		result.own = now.record.Change.Inserted
	}
	return result, err
}

// withoutOurs takes our entry out of a file: exactly what was put in, where that is still to be seen, else what the parser finds.
func (m *Manager) withoutOurs(app App, now current, key string) (outcome, error) {
	result := outcome{action: Removed}
	if now.record != nil && now.record.Previous != "" {
		result.action = PutBack
	}
	if record := now.record; record != nil {
		if before, ok := record.Change.Undo(now.data); ok {
			exact := digest(now.data) == record.After
			if exact && record.Before == "" {
				return outcome{action: DeletedFile, gone: true}, nil
			}
			if exact && digest(before) == record.Before || app.List.SameBut(now.data, before, key) && m.isWithout(app, before) {
				result.data = before
				return result, nil
			}
		}
	}
	data, err := app.List.Remove(now.data, key)
	if err != nil {
		return outcome{}, err
	}
	if now.record != nil && now.record.Before == "" && m.isBare(app, data, key) {
		return outcome{action: DeletedFile, gone: true}, nil
	}
	if now.record != nil && now.record.Previous != "" {
		if entry, ok := keptEntry(now.record.Previous); ok {
			if data, err = app.List.Set(data, Key, entry); err != nil {
				return outcome{}, err
			}
		}
	}
	result.data = data
	return result, nil
}

// isBare says whether a file holds no more than what is left of one that was made for the entry, comments included.
func (m *Manager) isBare(app App, data []byte, key string) bool {
	made, err := app.List.Set(nil, key, app.Entry(m.config.Server))
	if err != nil {
		return false
	}
	left, err := app.List.Remove(made, key)
	squeezed := func(text []byte) string { return strings.Join(strings.Fields(string(text)), "") }
	return err == nil && squeezed(left) == squeezed(data)
}

func (m *Manager) isWithout(app App, data []byte) bool {
	found, err := m.entries(app, data)
	return err == nil && found.ours == nil
}

// tries is how often a file is read again that others change at the same time.
const tries = 5

// onEveryFile edits all files of an app.
func (m *Manager) onEveryFile(id string, options Options, editOf func(App) edit) (Report, error) {
	app, err := m.app(id)
	if err != nil {
		return Report{}, err
	}
	if !m.config.Computer.installed(app) {
		return Report{}, &Error{Kind: ErrNotInstalled, Message: fmt.Sprintf("%s was not found on this computer. If it is here, start it once, so that it makes its folder, and try again.", app.Name)}
	}
	unlock, err := m.lock()
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	var changes []Change
	var failures []error
	for _, at := range m.config.Computer.places(app) {
		change, err := m.change(app, at.file, editOf(app), options.DryRun)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		changes = append(changes, change)
	}
	return m.report(app, changes), errors.Join(failures...)
}

func (m *Manager) report(app App, changes []Change) Report {
	report := Report{App: app, Changes: changes}
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Action != Nothing }) {
		running, err := m.config.Computer.Programs()
		report.Running, report.Next = m.config.Computer.runs(app, running), app.After
		if known := err == nil && len(app.Processes[m.config.Computer.System]) > 0; known && !report.Running {
			report.Next = "" // it reads its settings when it starts
		}
	}
	return report
}

// change edits one file. What is recorded is on disk before the file changes, so that whenever this dies it can be undone.
func (m *Manager) change(app App, path string, change edit, dryRun bool) (Change, error) {
	for try := 1; ; try++ {
		result, err := m.changeOnce(app, path, change, dryRun)
		switch {
		case err == nil:
			return result, nil
		case try == tries || !errors.Is(err, safefile.ErrChanged):
			return Change{}, m.explain(app, path, err)
		}
	}
}

func (m *Manager) changeOnce(app App, path string, change edit, dryRun bool) (Change, error) {
	file, err := safefile.Read(path)
	if err != nil {
		return Change{}, err
	}
	records, err := m.records()
	if err != nil {
		return Change{}, err
	}
	now := current{exists: file.Exists, data: file.Data}
	if record, ok := records[path]; ok {
		now.record = &record
	}
	next, err := change(now)
	if err != nil {
		return Change{}, err
	}
	result := Change{Path: path, Action: next.action, Difference: difference(file.Data, next.data, next.own)}
	untouched := next.gone == !file.Exists && string(next.data) == string(file.Data)
	switch {
	case dryRun:
		return result, file.Writable()
	case untouched && next.action == Nothing:
		if next.record == nil && now.record != nil {
			return result, m.record(path, nil)
		}
		return result, nil
	}
	if err := file.Writable(); err != nil {
		return Change{}, err
	}
	if file.Exists {
		if err := m.backUp(app, path, file.Data); err != nil {
			return Change{}, &Error{Kind: ErrFile, Cause: err, Message: fmt.Sprintf("Nothing was changed: %s could not be backed up first (%v).", path, cause(err))}
		}
	}
	intent := next.record
	if intent == nil && now.record != nil {
		undone := *now.record
		undone.Done = false
		intent = &undone
	}
	if intent != nil {
		if err := m.record(path, intent); err != nil {
			return Change{}, err
		}
	}
	if next.gone {
		err = m.remove(file, now.record)
	} else {
		var made []string
		made, err = file.Replace(next.data)
		if err != nil {
			removeFolders(made)
		}
		if next.record != nil {
			next.record.Folders = append(next.record.Folders, made...)
		}
	}
	if err != nil {
		return Change{}, errors.Join(err, m.record(path, now.record))
	}
	if next.record != nil {
		next.record.Done = true
	}
	if err := m.record(path, next.record); err != nil {
		return Change{}, &Error{Kind: ErrFile, Cause: err, Message: fmt.Sprintf("%s was changed as asked, but that could not be noted (%v), so it will not be told when the entry is lost.", path, cause(err))}
	}
	return result, nil
}

// remove deletes a file, and the folders that were made for it where they are empty.
func (m *Manager) remove(file safefile.File, record *connection) error {
	if err := file.Remove(); err != nil || record == nil {
		return err
	}
	removeFolders(record.Folders)
	return nil
}

// removeFolders removes folders that were made, but from where something is in one.
func removeFolders(folders []string) {
	for _, folder := range slices.Backward(folders) {
		if os.Remove(folder) != nil {
			return
		}
	}
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
		return nil, fmt.Errorf("another ForeverVM is changing an app's settings and does not come to an end: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// explain makes a sentence of what went wrong with a file. Whatever it is, the file is as it was.
func (m *Manager) explain(app App, path string, err error) error {
	var told *Error
	if errors.As(err, &told) {
		return err
	}
	var message string
	var broken *configfile.BrokenError
	switch {
	case errors.As(err, &broken):
		message = fmt.Sprintf("%s's settings in %s are broken, so they were left alone: %s. Mend that, or restore a backup, and try again.", app.Name, path, broken)
	case errors.Is(err, configfile.ErrNoWay):
		message = fmt.Sprintf("Nothing was changed in %s: %v. Add the entry by hand.", path, err)
	case errors.Is(err, safefile.ErrChanged):
		message = fmt.Sprintf("Nothing was changed: %s keeps writing to %s. Quit it and try again.", app.Name, path)
	case errors.Is(err, safefile.ErrRefused):
		message = fmt.Sprintf("Nothing was changed: %v.", err)
	case errors.Is(err, fs.ErrPermission):
		message = fmt.Sprintf("Nothing was changed: you are not allowed to write to %s, or to its folder. Allow it, or ask whoever looks after this computer.", path)
	case errors.Is(err, syscall.ENOSPC):
		message = fmt.Sprintf("Nothing was changed: the disk of %s is full. Make room and try again.", path)
	case errors.Is(err, syscall.EROFS):
		message = fmt.Sprintf("Nothing was changed: %s is on a disk that cannot be written to.", path)
	default:
		message = fmt.Sprintf("Nothing was changed in %s: %v.", path, cause(err))
	}
	return &Error{Kind: ErrFile, Message: message, Cause: err}
}

// cause is what the system says, without the names of our temporary files.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
