package store

import (
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forevervm/desktop/backend/machine"
)

// errNewer says that the file was written by a newer program.
var errNewer = errors.New("schema is newer than this program")

// explain gives an error of SQLite's the domain's kind.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return machine.ErrNotFound
	}
	if isFull(err) {
		return &machine.Error{
			Kind:    machine.ErrDiskFull,
			Message: "The disk is full, so this could not be written down and was not done. " + machine.FreeSpace,
			Cause:   err,
		}
	}
	return err
}

// code is SQLite's result code, extended; 0 when the error is not SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isFull recognises a disk that is full: SQLite reports a failed write of its log as an error of
// input and output.
func isFull(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_FSYNC:
		return true
	}
	return false
}

// explainOpen says what is wrong with a file that cannot be opened, and what to do.
func explainOpen(path string, err error) error {
	switch c := code(err); {
	case errors.Is(err, errNewer):
		return fmt.Errorf("the history in %s was written by a newer version of ForeverVM, so this version leaves it alone; install the newer version again: %w", path, err)
	case c == sqlite3.SQLITE_NOTADB || c&0xff == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the history in %s is damaged and cannot be read; put a backup of the file in its place, or move it away to begin with an empty history: %w", path, err)
	case isFull(err):
		return fmt.Errorf("the disk is full, so the history in %s cannot be opened; free some space and start again: %w", path, err)
	}
	return fmt.Errorf("open the history in %s: %w", path, err)
}
