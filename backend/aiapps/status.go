package aiapps

import (
	"slices"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// State says how an app, or one of its files, stands.
type State string

// The states. Where an app has several files, its own state is the one that asks for most.
const (
	Broken       State = "broken"        // the file cannot be read or parsed
	Wiped        State = "wiped"         // the app, or a person, took out what was connected
	Outdated     State = "outdated"      // the entry is ours, but starts another program, or is switched off
	Taken        State = "taken"         // another server has the entry's name
	Official     State = "official"      // the entry starts the official server, which runs code elsewhere
	Extension    State = "extension"     // there is no entry, or no longer, but the app has our extension
	Unfinished   State = "unfinished"    // there is no entry, and the app did not install the extension
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
	Skill     SkillState
}

// SkillState says whether an app has our skill; "" for an app that takes none.
type SkillState string

// The states of a skill.
const (
	SkillOffered SkillState = "offered"
	SkillThere   SkillState = "there"
)

// FileStatus is how one of its files stands.
type FileStatus struct {
	Path    string
	State   State
	Problem string // a sentence, where State is Broken
}

// Status says how all apps stand, or only some by their IDs.
func (m *Manager) Status(ids ...string) ([]AppStatus, error) {
	records, recordsErr := m.records()
	programs, err := m.config.Computer.Programs()
	if err != nil {
		programs = nil // it is then not known; nothing depends on it
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
			App: app, Installed: m.config.Computer.installed(app), Running: len(m.config.Computer.running(app, programs)) > 0, State: NotConnected,
		}
		if path := m.config.Computer.skillFile(app); path != "" {
			status.Skill = SkillOffered
			if file, err := safefile.Read(path); err == nil && file.Exists {
				status.Skill = SkillThere
			}
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
		if (status.State == NotConnected || status.State == Wiped) && m.config.Computer.hasExtension(app) {
			status.State = Extension
		}
		if status.State == NotConnected && m.waitsForExtension(app) {
			status.State = Unfinished
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
