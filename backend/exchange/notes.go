package exchange

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
)

// Notes are what is remembered of machines: a folder with one file of JSON for each.

// openNotes makes the folder where it is missing, and returns which machines have a note. It
// removes what a daemon that died left half written.
func openNotes(folder string) (ids []machine.ID, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			ids = append(ids, machine.ID(id))
		} else {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	return ids, err
}

func noteFile(folder string, id machine.ID) string {
	return filepath.Join(folder, string(id)+".json")
}

// readNote fills note with what is remembered of a machine. It leaves it empty where there is
// nothing, and where it returns an error.
func readNote[T any](folder string, id machine.ID, note *T) error {
	data, err := os.ReadFile(noteFile(folder, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, note)
	}
	if err != nil {
		*note = *new(T)
	}
	return err
}

// writeNote replaces a machine's note all at once. It survives a power cut.
func writeNote(folder string, id machine.ID, note any) error {
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, "*.new") // for the user alone
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), noteFile(folder, id))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
