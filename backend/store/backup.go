package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// backupEvery is how often the database is copied.
	backupEvery = 24 * time.Hour
	// backupsKept is how many copies there are at most.
	backupsKept = 3

	backupsFolder = "backups"
	backupPrefix  = "forevervm-"
	backupSuffix  = ".db"
	backupTime    = "20060102T150405Z"
	unfinished    = ".partial"
)

// Backup is a copy of the database that was whole when it was made.
type Backup struct {
	Path string
	Made time.Time
}

// Backups are the copies of the database at path, newest first. They lie in the folder backups
// beside it.
func Backups(path string) ([]Backup, error) {
	dir := filepath.Join(filepath.Dir(path), backupsFolder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Backup
	for _, e := range entries {
		name, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), backupSuffix), backupPrefix)
		if made, err := time.Parse(backupTime, name); ok && err == nil {
			all = append(all, Backup{filepath.Join(dir, e.Name()), made})
		}
	}
	slices.SortFunc(all, func(a, b Backup) int { return b.Made.Compare(a.Made) })
	return all, nil
}

// BackUp copies the database where the last copy is a day old, or a machine has moved since, and
// room, in bytes, is enough for a copy. It removes copies that are too many, damaged, or hold
// machines that are gone for good. Others read and write meanwhile. Where the database is damaged,
// it fails with what Damaged tells, and the copies stay. One without machines is not copied: its
// copies would take the place of those of a history that was lost.
func (s *Store) BackUp(ctx context.Context, now time.Time, room int64) error {
	all, err := Backups(s.path)
	if err != nil {
		return err
	}
	mine, err := contents(ctx, s.readers)
	if err != nil {
		return explain(err)
	}
	var good []Backup
	moved := false // since the newest of them
	for _, b := range all {
		copied, err := contentsOf(ctx, b.Path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// One that cannot be read just now stays.
		if !Damaged(err) && !mine.purged(copied) {
			moved = moved || len(good) == 0 && mine.moved(copied)
			good = append(good, b)
		}
	}
	if len(mine.machines) > 0 && (len(good) == 0 || moved || now.Sub(good[0].Made) >= backupEvery || good[0].Made.After(now)) {
		if err = s.copyTo(ctx, now, room); err == nil {
			good = good[:min(len(good), backupsKept-1)]
		} else if Damaged(err) || ctx.Err() != nil {
			return err
		}
	}
	for _, b := range all {
		if !slices.Contains(good, b) {
			err = errors.Join(err, os.Remove(b.Path))
		}
	}
	return err
}

// content is what tells whether one database comes before another.
type content struct {
	machines map[string]string // the engine of each
	numbered int64             // how many instructions it has ever had
}

func contents(ctx context.Context, db *sql.DB) (c content, err error) {
	err = db.QueryRowContext(ctx, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'instructions'), 0)").Scan(&c.numbered)
	if err != nil {
		return c, err
	}
	rows, err := db.QueryContext(ctx, "SELECT id, engine FROM machines")
	if err != nil {
		return c, err
	}
	defer rows.Close()
	c.machines = map[string]string{}
	for rows.Next() {
		var id, engine string
		if err := rows.Scan(&id, &engine); err != nil {
			return c, err
		}
		c.machines[id] = engine
	}
	return c, rows.Err()
}

func contentsOf(ctx context.Context, path string) (content, error) {
	db, err := sql.Open("sqlite", readOnly(path))
	if err != nil {
		return content{}, err
	}
	defer db.Close()
	return contents(ctx, db)
}

// purged says whether a copy holds a machine that was deleted since. A copy that has had more
// instructions is of another database, which was lost: nothing of it was deleted.
func (c content) purged(copied content) bool {
	if copied.numbered > c.numbered {
		return false
	}
	for id := range copied.machines {
		if _, here := c.machines[id]; !here {
			return true
		}
	}
	return false
}

// moved says whether a machine is elsewhere now than in a copy, which would look for it in vain.
func (c content) moved(copied content) bool {
	for id, engine := range copied.machines {
		if now, here := c.machines[id]; here && now != engine {
			return true
		}
	}
	return false
}

// copyTo makes a copy, and keeps it only where that is whole.
func (s *Store) copyTo(ctx context.Context, now time.Time, room int64) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if info.Size() > room {
		return fmt.Errorf("the disk is nearly full, and a copy takes up to %d MB; free some space", info.Size()>>20+1)
	}
	path := filepath.Join(filepath.Dir(s.path), backupsFolder, backupPrefix+now.UTC().Format(backupTime)+backupSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := removeStarted(filepath.Dir(path)); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return err
	}
	partial := path + unfinished
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", partial)
	if err = errors.Join(err, db.Close()); err == nil {
		err = check(ctx, partial)
	}
	if err == nil {
		err = syncFile(partial, 0o600)
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		return errors.Join(explain(err), removeStarted(filepath.Dir(path)))
	}
	return syncFolder(filepath.Dir(path))
}

// removeStarted removes copies that were not finished.
func removeStarted(dir string) error {
	started, err := filepath.Glob(filepath.Join(dir, "*"+unfinished+"*"))
	for _, path := range started {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// check fails where a database file that nobody writes to is not whole.
func check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", readOnly(path))
	if err != nil {
		return err
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, said)
	}
	return nil
}

var errDamaged = errors.New("the database is damaged")

// Damaged says whether that is why a database cannot be opened or copied.
func Damaged(err error) bool {
	c := code(err)
	return errors.Is(err, errDamaged) || c == sqlite3.SQLITE_NOTADB || c&0xff == sqlite3.SQLITE_CORRUPT
}

// readOnly names a database that is only read, and by nobody written.
func readOnly(path string) string {
	q := url.Values{"mode": {"ro"}, "immutable": {"1"}}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	return u.String()
}

// Missing says whether there is no database at path, or an empty file.
func Missing(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && info.Size() == 0, err
}

// Recover puts another database in the place of one at path that is missing or damaged: the newest
// copy that is whole, or an empty one. Before it counts, amend brings it in line with what else is
// there. It returns the copy, if there was one, and where what was at path lies now. A crash leaves
// either what was there, and Recover is to be called again, or all of it.
func Recover(ctx context.Context, path string, amend func(*Store) error) (from *Backup, aside string, err error) {
	next := path + ".recovering"
	if err := removeAll(next); err != nil {
		return nil, "", err
	}
	all, err := Backups(path)
	if err != nil {
		return nil, "", err
	}
	for _, b := range all {
		if empty, err := Missing(b.Path); empty || err != nil || check(ctx, b.Path) != nil {
			continue
		}
		if err := copyFile(b.Path, next); err != nil {
			return nil, "", err
		}
		from = &b
		break
	}
	s, err := Open(ctx, next)
	if err != nil {
		return nil, "", err
	}
	if err := errors.Join(amend(s), s.Close()); err != nil { // closing it leaves one file
		return nil, "", err
	}
	if err := syncFile(next, 0o600); err != nil {
		return nil, "", err
	}
	if aside, err = setAside(path); err != nil {
		return nil, "", err
	}
	if err := os.Rename(next, path); err != nil {
		return nil, "", err
	}
	return from, aside, syncFolder(filepath.Dir(path))
}

// parts are the names of the files of a database.
func parts(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

func removeAll(path string) error {
	var errs []error
	for _, part := range parts(path) {
		if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// setAside gives the files of a database another name, the database last: as long as it is there,
// the work is not done.
func setAside(path string) (string, error) {
	aside := path + ".damaged-" + time.Now().UTC().Format(backupTime)
	names, to := parts(path), parts(aside)
	slices.Reverse(names)
	slices.Reverse(to)
	any := false
	for i := range names {
		switch err := os.Rename(names[i], to[i]); {
		case err == nil:
			any = true
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	if !any {
		aside = ""
	}
	return aside, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// syncFile brings a file to the disk, and sets its mode.
func syncFile(path string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(path, mode), f.Sync(), f.Close())
}

// syncFolder makes the names in a folder durable. Windows does that on its own.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
