package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/DeRuina/timberjack"

	"github.com/forevervm/desktop/backend/home"
)

// DebugVariable turns on the log of every request and every step.
const DebugVariable = "FOREVERVM_DEBUG"

// openLog opens the daemon's log, a file that makes room for a new one when it is full.
func openLog(dirs home.Dirs) (log *slog.Logger, closeLog func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dirs.LogFile()), 0o700); err != nil {
		return nil, nil, fmt.Errorf("the log cannot be written: %w", err)
	}
	file := &timberjack.Logger{
		Filename:    dirs.LogFile(),
		MaxSize:     10, // MB
		MaxBackups:  4,
		Compression: "gzip",
		FileMode:    0o600,
	}
	level := slog.LevelInfo
	if os.Getenv(DebugVariable) != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})), func() { _ = file.Close() }, nil
}
