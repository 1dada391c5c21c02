package home

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrAway says that the folder that ForeverVM's files were moved to is not there.
var ErrAway = errors.New("ForeverVM's files are on a disk that is not connected")

// place says where the data lies, once it was moved.
type place struct {
	Folder string `json:"folder,omitempty"` // "" for the usual one
	// ID is also in the folder. What lies at the path while the disk is away is another folder.
	ID string `json:"id,omitempty"`
	// Left is a folder with a copy that does not count: it was never whole, or the one before.
	Left string `json:"left,omitempty"`
}

// markName is a file in moved data.
const markName = "moved.json"

// placeFile says where the data lies. Without it, it is in the usual place.
func (d Dirs) placeFile() string { return filepath.Join(d.Config, "place.json") }

// withPlace puts in where the data was moved to.
func (d Dirs) withPlace() (Dirs, error) {
	d.Usual = d.Data
	found, err := d.place()
	if err == nil && found.Folder != "" {
		d.Data, d.id = found.Folder, found.ID
	}
	return d, err
}

func (d Dirs) place() (found place, err error) {
	data, err := read(d.placeFile())
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err == nil && found.Folder != "" && !filepath.IsAbs(found.Folder) {
		err = errors.New("it names no whole path")
	}
	if err != nil {
		return place{}, fmt.Errorf("where ForeverVM's files were moved to cannot be read from %s; mend that file: %w", d.placeFile(), err)
	}
	return found, nil
}

// Moved says whether the data is not in its usual place.
func (d Dirs) Moved() bool { return d.Data != d.Usual }

// there fails where moved data is not at its place.
func (d Dirs) there() error {
	if !d.Moved() {
		return nil
	}
	var mark place
	data, err := read(filepath.Join(d.Data, markName))
	if err == nil {
		err = json.Unmarshal(data, &mark)
	}
	if err == nil && mark.ID == d.id {
		return nil
	}
	return fmt.Errorf("%w: they were moved to %s. Connect that disk and start ForeverVM again. Is it lost for good? Delete %s to begin with nothing", ErrAway, d.Data, d.placeFile())
}

// Begin remembers a folder that the data is about to be copied to, so that RemoveLeft removes what
// a crash leaves there.
func (d Dirs) Begin(folder string) error {
	now, err := d.place()
	if err != nil {
		return err
	}
	now.Left = folder
	return writeJSON(d.placeFile(), now)
}

// MoveTo switches to a whole copy of the data, and returns the folders from then on. RemoveLeft
// removes the old copy. The switch is one write: after a crash, one of the two copies counts. After
// an error, Resolve tells which.
func (d Dirs) MoveTo(folder string) (Dirs, error) {
	next := place{Left: d.Data}
	if folder != d.Usual {
		next.Folder, next.ID = folder, rand.Text()
		if err := writeJSON(filepath.Join(folder, markName), place{ID: next.ID}); err != nil {
			return d, err
		}
	}
	if err := writeJSON(d.placeFile(), next); err != nil {
		return d, err
	}
	d.Data = d.Usual
	return d.withPlace()
}

// Stays are the names in the data's usual place that stay there, and those in moved data that are
// no part of it.
func (d Dirs) Stays() []string {
	stays := []string{markName, filepath.Base(d.LockFile())}
	if filepath.Dir(d.Run) == d.Usual {
		stays = append(stays, filepath.Base(d.Run))
	}
	return stays
}

// RemoveLeft removes the copy that does not count, if there is one. It never removes the data,
// whatever the file says.
func (d Dirs) RemoveLeft() error {
	now, err := d.place()
	if err != nil || now.Left == "" {
		return err
	}
	if err := d.there(); err != nil {
		return err
	}
	if now.Left != d.Data {
		if err := d.clear(now.Left); err != nil {
			return err
		}
	}
	now.Left = ""
	if now.Folder == "" {
		return remove(d.placeFile())
	}
	return writeJSON(d.placeFile(), now)
}

// clear removes a copy of the data. In the usual place, what is never moved stays.
func (d Dirs) clear(folder string) error {
	if folder != d.Usual {
		return removeAll(folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(d.Stays(), entry.Name()) {
			err = errors.Join(err, removeAll(filepath.Join(folder, entry.Name())))
		}
	}
	return err
}
