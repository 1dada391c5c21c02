package hosted

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// note says that an instruction with a key is on its way to the service, or got lost there. Front
// ends send an instruction again under its key when the daemon was killed; the service knows no
// keys, so the note keeps it from running twice.
type note string

// keepNotes is how long one may be sent again.
const keepNotes = 24 * time.Hour

// noteSending makes the note. That there is one already is the error that it is not known whether
// the instruction runs.
func (s *session) noteSending(name, key string) (note, error) {
	if key == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(name + "\n" + key))
	path := filepath.Join(s.sending, hex.EncodeToString(sum[:16]))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return "", &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf(
			"This was sent to %s before, and the connection broke before it was known whether it runs. It is not sent again: look at the machine, and send it as something new if it did not run.", name)}
	}
	if err != nil {
		return "", fmt.Errorf("note what is sent to a hosted machine: %w", err)
	}
	return note(path), file.Close()
}

// remove forgets an instruction that is on record, or was certainly not taken.
func (n note) remove() {
	if n != "" {
		_ = os.Remove(string(n)) // one that stays says "not known" once too often
	}
}

// forgetSent removes old notes.
func (s *session) forgetSent() {
	entries, err := os.ReadDir(s.sending)
	if err != nil {
		s.m.config.Logger.Warn("notes of what was sent to hosted machines stay", "err", err)
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keepNotes {
			note(filepath.Join(s.sending, entry.Name())).remove()
		}
	}
}
