package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate sets the connection up and brings the schema to the newest version, each step wholly or
// not at all. The version is SQLite's user_version: how many of the files have been applied.
func migrate(ctx context.Context, conn *sql.Conn) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("version %d of at most %d: %w", version, len(files), errNewer)
	}
	// Only now may the file be touched. The order matters: auto_vacuum is fixed once there is a
	// table.
	for _, pragma := range []string{"auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON"} {
		if _, err := conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return err
		}
	}
	for i := version; i < len(files); i++ {
		step, err := migrations.ReadFile(files[i])
		if err != nil {
			return err
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", step, i+1)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, undo := conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(fmt.Errorf("%s: %w", files[i], err), undo)
		}
	}
	return nil
}
