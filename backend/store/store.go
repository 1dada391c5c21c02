// Package store keeps the records of machines in SQLite.
//
// The database is in WAL mode. Write commits with synchronous=NORMAL: the operating system has the
// record when it returns, so killing this process loses nothing, at the price of no disk flush. A
// power cut may take the last of such writes, which are output of what still runs, and never
// damages the file. WriteSync flushes everything up to itself, which on an SSD takes 0.1 ms to a
// few: it is for instructions as they are accepted, handed to their machine, and over, so that a
// power cut neither forgets an acknowledged one, nor runs one twice, nor takes back a result that
// somebody was told; and for changes after which something else is deleted, such as a new
// checkpoint replacing an old one.
//
// There is one writing connection, so writers never meet; readers have their own and never wait for
// it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// Store implements machine.Store on one database file.
type Store struct {
	path    string
	readers *sql.DB
	reads   statements

	wal *os.File // to flush it

	mu     sync.Mutex // held while writing; guards what follows
	db     *sql.DB
	conn   *sql.Conn
	writes statements
}

var _ machine.Store = (*Store)(nil)

const (
	readersAtOnce = 4
	busyTimeout   = 10 * time.Second
)

// Open opens the database, making it or bringing it up to date if need be. The errors are sentences
// for a person: a file that is damaged, or of a newer version, is left alone.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	s, err := open(ctx, path)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string) (s *Store, err error) {
	s = &Store{path: path}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return s, err
	} else if err := f.Close(); err != nil {
		return s, err
	}
	if s.db, err = sql.Open("sqlite", dsn(path)); err != nil {
		return s, err
	}
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return s, err
	}
	s.writes.prepare = s.conn.PrepareContext
	if err := migrate(ctx, s.conn); err != nil {
		return s, err
	}
	// SQLite makes its log with the first transaction, and keeps that file for as long as a
	// connection is open.
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE; COMMIT"); err != nil {
		return s, err
	}
	if s.wal, err = os.OpenFile(path+"-wal", os.O_RDWR, 0); err != nil {
		return s, err
	}
	if s.readers, err = sql.Open("sqlite", dsn(path, "query_only(ON)")); err != nil {
		return s, err
	}
	s.readers.SetMaxOpenConns(readersAtOnce)
	s.readers.SetMaxIdleConns(readersAtOnce)
	s.reads.prepare = s.readers.PrepareContext
	return s, s.readers.PingContext(ctx)
}

func dsn(path string, pragmas ...string) string {
	q := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	if filepath.VolumeName(path) != "" { // C:/x becomes /C:/x, as file URLs have it
		u.Path = "/" + u.Path
	}
	return u.String()
}

// Close ends all use of the file. What was written is in it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	errs = append(errs, s.reads.close(), s.writes.close())
	if s.wal != nil {
		errs = append(errs, s.wal.Close())
	}
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}

// Write changes records, all or nothing. Once it has begun, it is not interrupted by ctx.
func (s *Store) Write(ctx context.Context, change func(machine.Writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(ctx, change)
}

// WriteSync is Write, and has reached the disk when it returns.
func (s *Store) WriteSync(ctx context.Context, change func(machine.Writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.exec("PRAGMA synchronous = FULL"); err != nil {
		return explain(err)
	}
	err := s.write(ctx, change)
	return errors.Join(err, explain(s.exec("PRAGMA synchronous = NORMAL")))
}

// Sync returns when everything that Write has returned from has reached the disk. In the WAL mode
// that is when its log has: what has left it for the database was flushed before.
func (s *Store) Sync() error {
	if err := s.wal.Sync(); err != nil {
		return explain(fmt.Errorf("flush the log: %w", err))
	}
	return nil
}

// write is one transaction. mu is held.
func (s *Store) write(ctx context.Context, change func(machine.Writer) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return explain(err)
	}
	defer func() {
		if err != nil {
			// It may have been rolled back already, by a full disk.
			_ = s.exec("ROLLBACK")
			err = explain(err)
		}
	}()
	if err := change(writer{s}); err != nil {
		return err
	}
	return s.exec("COMMIT")
}

// exec runs a statement on the writing connection. mu is held.
func (s *Store) exec(query string, args ...any) error {
	ctx := context.Background()
	stmt, err := s.writes.get(ctx, query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

// writer is the machine.Writer of one transaction.
type writer struct{ s *Store }

// Scrub leaves nothing of what was removed in the files: removed rows were overwritten when they
// were removed, and what is left of them in the log goes now. Pages that are free are given back.
func (s *Store) Scrub(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.conn.ExecContext(ctx, "PRAGMA incremental_vacuum"); err != nil {
		return explain(err)
	}
	// Nobody can write meanwhile, so this waits for none of those who read.
	if _, err := s.conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return explain(err)
	}
	var busy, log, done int
	err := s.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done)
	_, back := s.conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
	if err := errors.Join(err, back); err != nil {
		return explain(err)
	}
	if busy != 0 {
		return errors.New("the database is being read; what was removed leaves its log later")
	}
	return nil
}

// limited ends a query that gives so many rows at most. SQLite plans a query again for each other
// value of a parameter that is all of a limit, which takes longer than most queries do.
const limited = " LIMIT ? + 0"

// statements are prepared once each.
type statements struct {
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
	mu      sync.Mutex
	all     map[string]*sql.Stmt
}

func (p *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stmt, ok := p.all[query]; ok {
		return stmt, nil
	}
	stmt, err := p.prepare(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	if p.all == nil {
		p.all = map[string]*sql.Stmt{}
	}
	p.all[query] = stmt
	return stmt, nil
}

func (p *statements) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, stmt := range p.all {
		errs = append(errs, stmt.Close())
	}
	p.all = nil
	return errors.Join(errs...)
}

// scanner is a row, or an error in its place.
type scanner interface{ Scan(dest ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func (s *Store) row(ctx context.Context, query string, args ...any) scanner {
	stmt, err := s.reads.get(ctx, query)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

// each calls scan for every row of a query, until scan says no.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(scanner) (more bool, err error)) error {
	stmt, err := s.reads.get(ctx, query)
	if err != nil {
		return explain(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return explain(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		more, err := scan(rows)
		if err != nil {
			return explain(err)
		}
		if !more {
			return nil
		}
	}
	return explain(rows.Err())
}
