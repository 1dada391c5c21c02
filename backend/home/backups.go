package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Backups are what is known of the person's copies of machines.
type Backups struct {
	// Machines are those with a copy, by their IDs.
	Machines map[string]Backup `json:"machines"`
	// TriedAt is when the last round ended; GoodAt when the last one ended in which all went well.
	TriedAt time.Time `json:"tried_at"`
	GoodAt  time.Time `json:"good_at"`
	// Problem is what went wrong in the last round, in sentences for the person; empty for nothing.
	Problem string `json:"problem,omitempty"`
}

// Backup is a machine's last copy.
type Backup struct {
	Checkpoint string    `json:"checkpoint"` // the state that it has
	File       string    `json:"file"`       // its whole path
	Size       int64     `json:"size"`       // bytes
	At         time.Time `json:"at"`
}

// BackupsFile is where that is kept.
func (d Dirs) BackupsFile() string { return filepath.Join(d.Data, "backups.json") }

// ReadBackups returns what is known. Without the file nothing is known. If the file is damaged,
// nothing is known either, and there is an error.
func (d Dirs) ReadBackups() (Backups, error) {
	known := Backups{Machines: map[string]Backup{}}
	data, err := read(d.BackupsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return Backups{Machines: map[string]Backup{}}, fmt.Errorf("the record of backups cannot be read: %w", err)
	}
	if known.Machines == nil {
		known.Machines = map[string]Backup{}
	}
	return known, nil
}

// WriteBackups replaces what is known, all or nothing.
func (d Dirs) WriteBackups(known Backups) error { return writeJSON(d.BackupsFile(), known) }
