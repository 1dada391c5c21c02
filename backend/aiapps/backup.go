package aiapps

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/home"
)

// Backup is a copy of an app's file, from before ForeverVM changed it.
type Backup struct {
	ID   string
	File string // what it is a copy of
	At   time.Time
	Size int64 // bytes
}

const (
	keepBackups = 5 // of each file
	backupTime  = "20060102T150405.000000000Z"
	pathFile    = "path" // beside the backups: what they are copies of
)

func (m *Manager) backupFolder(app App, path string) string {
	return filepath.Join(m.config.Folder, "backups", app.ID, digest([]byte(path))[:12])
}

// backUp keeps a copy of a file, unless the newest one is the same, and drops the oldest beyond
// five. The copies hold other servers' keys, so only the user may read them.
func (m *Manager) backUp(app App, path string, data []byte) error {
	folder := m.backupFolder(app, path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, pathFile)); err != nil {
		if err := home.WritePrivate(filepath.Join(folder, pathFile), []byte(path)); err != nil {
			return err
		}
	}
	backups, err := backupsIn(folder)
	if err != nil {
		return err
	}
	if len(backups) > 0 {
		newest, err := os.ReadFile(m.backupPath(app, backups[0].ID))
		if err == nil && bytes.Equal(newest, data) {
			return nil
		}
	}
	name := m.config.Now().UTC().Format(backupTime)
	if err := home.WritePrivate(filepath.Join(folder, name), data); err != nil {
		return err
	}
	for i := keepBackups - 1; i < len(backups); i++ {
		if err := os.Remove(m.backupPath(app, backups[i].ID)); err != nil {
			return err
		}
	}
	return nil
}

// backupPath is where a backup lies, or "" for what cannot be the ID of one.
func (m *Manager) backupPath(app App, id string) string {
	folder, name, ok := strings.Cut(id, "-")
	if _, err := time.Parse(backupTime, name); err != nil || !ok || folder == "" || strings.ContainsAny(folder, `/\.`) {
		return ""
	}
	return filepath.Join(m.config.Folder, "backups", app.ID, folder, name)
}

// backupsIn lists the backups of one file, newest first.
func backupsIn(folder string) ([]Backup, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	path, err := os.ReadFile(filepath.Join(folder, pathFile))
	if err != nil {
		return nil, err
	}
	var backups []Backup
	for _, entry := range entries {
		at, err := time.Parse(backupTime, entry.Name())
		if err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		backups = append(backups, Backup{ID: filepath.Base(folder) + "-" + entry.Name(), File: string(path), At: at, Size: info.Size()})
	}
	slices.Reverse(backups) // names sort by time
	return backups, nil
}

// Backups lists the copies of an app's files, newest first.
func (m *Manager) Backups(id string) ([]Backup, error) {
	app, err := m.app(id)
	if err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(filepath.Join(m.config.Folder, "backups", app.ID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := []Backup{}
	for _, folder := range folders {
		backups, err := backupsIn(filepath.Join(m.config.Folder, "backups", app.ID, folder.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, backups...)
	}
	slices.SortStableFunc(all, func(a, b Backup) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
	return all, nil
}

// Restore puts a backup in the place of the file that it is a copy of; what is there now is backed
// up first.
func (m *Manager) Restore(id, backup string) (Report, error) {
	app, err := m.app(id)
	if err != nil {
		return Report{}, err
	}
	unlock, err := m.lock()
	if err != nil {
		return Report{}, m.explain(app, m.config.Folder, err)
	}
	defer unlock()
	path := m.backupPath(app, backup)
	data, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return Report{}, &Error{Kind: ErrUnknown, Message: "There is no backup " + backup + " of " + app.Name + "'s files; `forevervm apps backups " + app.ID + "` lists them."}
	}
	if err != nil {
		return Report{}, err
	}
	file, err := os.ReadFile(filepath.Join(filepath.Dir(path), pathFile))
	if err != nil {
		return Report{}, err
	}
	edit := func(current) (outcome, error) { return outcome{action: Restored, data: data}, nil }
	change, err := m.change(app, string(file), edit, false)
	if err != nil {
		return Report{}, err
	}
	return m.report(app, []Change{change}), nil
}
