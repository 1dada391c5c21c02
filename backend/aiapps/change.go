package aiapps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// Options are what may be said of a change.
type Options struct {
	Replace bool // another server of the same name may be replaced; it is put back by Disconnect
	DryRun  bool // only say what would change
	// Restart says that an app which runs may be quit for the change, where that helps
	// (App.Restarts), and is started again then.
	Restart bool
	Skill   bool // Connect also adds our skill, where the app takes skills
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

	SkillAdded   Action = "skill added"
	SkillRemoved Action = "skill removed"
)

// Change is what became of one file.
type Change struct {
	Path   string
	Action Action
	// Difference shows it line by line; values that are not ours are hidden.
	Difference string
}

func (c Change) changes() bool { return c.Action != Nothing }

// Report is what became of an app.
type Report struct {
	App     App
	Changes []Change
	Running bool // the app runs, and does not know of it yet
	// Restarted says that it was quit for the change and started again.
	Restarted bool
	Next      string // what the person does now, a sentence; "" for nothing, as the app does not run
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
	// key is the name under which the list then has entry, or nothing where that is nil; "" where
	// it is more that changes.
	key   string
	entry configfile.Object
}

// edit makes one of the other. It is called again where the file changed meanwhile.
type edit func(current) (outcome, error)

// tries is how often a file is read again that others change at the same time.
const tries = 5

// onEveryFile edits all files of an app, and then its skill.
func (m *Manager) onEveryFile(id string, options Options, editOf, skillOf func(App) edit) (Report, error) {
	app, err := m.app(id)
	if err != nil {
		return Report{}, err
	}
	if !m.config.Computer.installed(app) {
		return Report{}, notInstalled(app)
	}
	unlock, err := m.lock()
	if err != nil {
		return Report{}, m.explain(app, m.config.Folder, err)
	}
	defer unlock()
	everyFile := func(dryRun bool) (changes []Change, err error) {
		var failures []error
		for _, at := range m.config.Computer.places(app) {
			change, err := m.change(app, at.file, editOf(app), dryRun)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			changes = append(changes, change)
		}
		if len(failures) > 0 {
			return changes, errors.Join(failures...)
		}
		if !dryRun {
			if err := m.forgetOffer(app); err != nil {
				return changes, err
			}
		}
		skill, err := m.onSkill(app, skillOf(app), dryRun)
		return append(changes, skill...), err
	}
	again := func() error { return nil }
	restarted := false
	if options.Restart && app.Restarts && !options.DryRun {
		planned, _ := everyFile(true) // what fails does so again below
		if running := m.running(app); len(running) > 0 && slices.ContainsFunc(planned, Change.changes) {
			if again, err = m.config.Computer.Quit(running); err != nil {
				return Report{}, &Error{Kind: ErrRuns, Cause: err, Message: fmt.Sprintf("Nothing was changed: %s did not quit when asked (%v). Quit it, from its tray or menu too, and try again.", app.Name, err)}
			}
			restarted = true
		}
	}
	changes, err := everyFile(options.DryRun)
	if !restarted {
		return m.report(app, changes), err
	}
	if startErr := again(); startErr != nil {
		return m.report(app, changes), errors.Join(err, &Error{Kind: ErrRuns, Cause: startErr, Message: fmt.Sprintf("%s was quit, but does not start again (%v). Start it yourself.", app.Name, startErr)})
	}
	return Report{App: app, Changes: changes, Restarted: true}, errors.Join(err, m.stays(app, changes))
}

// takesOut is how long an app that was started again is watched. Some write back at once what they
// had in memory; what comes later, Status tells.
const takesOut = 2 * time.Second

// stays fails where an app that was started again takes out what was put in.
func (m *Manager) stays(app App, changes []Change) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for end := time.After(takesOut); ; {
		for _, change := range changes {
			if !slices.Contains([]Action{Added, Updated, Replaced}, change.Action) {
				continue
			}
			if file, err := safefile.Read(change.Path); err == nil && m.isWithout(app, file.Data) {
				return &Error{Kind: ErrFile, Message: fmt.Sprintf("%s took the entry out of %s again when it started. Quit it yourself, from its tray or menu too, and try again.", app.Name, change.Path)}
			}
		}
		select {
		case <-end:
			return nil
		case <-look.C:
		}
	}
}

// running are an app's programs that run; none where that cannot be told.
func (m *Manager) running(app App) []Program {
	programs, err := m.config.Computer.Programs()
	if err != nil {
		return nil
	}
	return m.config.Computer.running(app, programs)
}

func (m *Manager) report(app App, changes []Change) Report {
	report := Report{App: app, Changes: changes}
	if slices.ContainsFunc(changes, Change.changes) {
		programs, err := m.config.Computer.Programs()
		report.Running, report.Next = len(m.config.Computer.running(app, programs)) > 0, app.After
		if known := err == nil && len(app.Processes[m.config.Computer.System]) > 0; known && !report.Running {
			report.Next = "" // it reads its settings when it starts
		}
	}
	return report
}

// change edits one file. What is recorded is on disk before the file changes, so that whenever this
// dies it can be undone.
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
			return Change{}, m.explain(app, m.config.Folder, err)
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
			return Change{}, m.explain(app, m.config.Folder, err)
		}
	}
	if m.byTool(app, file, next) {
		if result.Action == DeletedFile {
			result.Action = Removed
		}
		if next.record != nil { // what is to be undone is not the change alone, then
			next.record.Change, next.record.After = configfile.Change{}, ""
		}
	} else if next.gone {
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
