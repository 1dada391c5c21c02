package aiapps

import (
	"fmt"
	"strings"

	"github.com/forevervm/desktop/backend/aiapps/configfile"
)

// Connect puts the entry into every file of an app, or brings it up to date; and its skill, if that
// is asked for.
func (m *Manager) Connect(id string, options Options) (Report, error) {
	if app, ok := Find(id); ok && m.config.Computer.hasExtension(app) {
		return Report{}, hasTheExtension(app)
	}
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) { return m.connect(app, now, options.Replace) }
	}, func(app App) edit { return m.addSkill(app, options.Skill) })
}

// Repair does so for an app that was connected: its entry was taken out, or starts a program that
// is no longer there. An app that did not install the extension gets the entry.
func (m *Manager) Repair(id string, options Options) (Report, error) {
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) {
			found, err := m.entries(app, now.data)
			if err != nil {
				return outcome{}, err
			}
			if found.ours == nil && m.config.Computer.hasExtension(app) {
				return outcome{}, hasTheExtension(app)
			}
			if found.ours == nil && now.record == nil && !m.waitsForExtension(app) {
				return outcome{}, &Error{Kind: ErrNotConnected, Message: fmt.Sprintf("%s was not connected, so there is nothing to repair; `forevervm connect %s` connects it.", app.Name, app.ID)}
			}
			return m.connect(app, now, options.Replace)
		}
	}, func(app App) edit { return m.addSkill(app, options.Skill) })
}

// Disconnect takes the entry out of every file of an app, and the skill. A file where nothing else
// has changed is again what it was, to the byte.
func (m *Manager) Disconnect(id string, options Options) (Report, error) {
	return m.onEveryFile(id, options, func(app App) edit {
		return func(now current) (outcome, error) { return m.disconnect(app, now) }
	}, func(App) edit { return m.removeSkill })
}

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
		if record.Previous, err = keepEntry(app, before.named.Entry); err != nil {
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
	return outcome{action: action, data: data, own: record.Change.Inserted, record: record, key: key, entry: entry}, nil
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
	if result.action != PutBack {
		result.key = found.ours.Name
	}
	return result, err
}

// withoutOurs takes our entry out of a file: exactly what was put in, where that is still to be
// seen, else what the parser finds.
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
		if entry, ok := keptEntry(app, now.record.Previous); ok {
			if data, err = app.List.Set(data, Key, entry); err != nil {
				return outcome{}, err
			}
		}
	}
	result.data = data
	return result, nil
}

// isBare says whether a file holds no more than what is left of one that was made for the entry,
// comments included.
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
