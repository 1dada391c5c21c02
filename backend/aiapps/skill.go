package aiapps

import (
	_ "embed" // the skill
	"fmt"
	"path/filepath"
)

// skill tells a model when to use machines, and how. Apps that take skills read it when a task fits
// its description (agentskills.io).
//
//go:embed skill.md
var skill []byte

// skillFile is where an app finds our skill; "" where it takes none.
func (c Computer) skillFile(app App) string {
	if app.Skills == "" {
		return ""
	}
	return filepath.Join(c.expand(app.Skills), Key, "SKILL.md")
}

// onSkill changes an app's skill; none where that changes nothing.
func (m *Manager) onSkill(app App, how edit, dryRun bool) ([]Change, error) {
	path := m.config.Computer.skillFile(app)
	if path == "" {
		return nil, nil
	}
	change, err := m.change(app, path, how, dryRun)
	if err != nil || !change.changes() {
		return nil, err
	}
	return []Change{change}, nil
}

// addSkill writes the skill if it is asked for, and brings an older one of ours up to date. A skill
// of that name which is not ours stays.
func (m *Manager) addSkill(app App, asked bool) edit {
	return func(now current) (outcome, error) {
		stays := outcome{action: Nothing, data: now.data, gone: !now.exists, record: now.record}
		ours := now.record != nil && digest(now.data) == now.record.After
		switch {
		case now.exists && string(now.data) == string(skill), !asked && !(now.exists && ours):
			return stays, nil
		case now.exists && !ours:
			return outcome{}, &Error{Kind: ErrFile, Message: fmt.Sprintf("%s is connected, but has another skill named %q, which stays as it is. To get ForeverVM's, rename that one and connect again.", app.Name, Key)}
		}
		record := &connection{App: app.ID, Key: Key, At: m.config.Now().UTC(), After: digest(skill)}
		if now.record != nil {
			record.Folders = now.record.Folders
		}
		return outcome{action: SkillAdded, data: skill, own: string(skill), record: record}, nil
	}
}

// removeSkill deletes the skill. One that a person has changed stays.
func (m *Manager) removeSkill(now current) (outcome, error) {
	if now.record == nil || !now.exists || digest(now.data) != now.record.After {
		return outcome{action: Nothing, data: now.data, gone: !now.exists}, nil
	}
	return outcome{action: SkillRemoved, gone: true, own: string(now.data)}, nil
}
