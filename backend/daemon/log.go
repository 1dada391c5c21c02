package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/DeRuina/timberjack"

	"github.com/forevervm/desktop/backend/home"
)

// DebugVariable turns on the log of every request and every step.
const DebugVariable = "FOREVERVM_DEBUG"

// maxCrash is how large the record of crashes may be before it starts over, in bytes.
const maxCrash = 1 << 20

// openLog opens the daemon's log, a file that makes room for a new one when it is full. What Go
// says when the program crashes goes into a file beside it: a daemon that was started in the
// background has no other place to say it.
func openLog(dirs home.Dirs) (log *slog.Logger, closeLog func(), err error) {
	folder := filepath.Dir(dirs.LogFile())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("the log cannot be written: %w", err)
	}
	if err := recordCrashes(filepath.Join(folder, "crash.log")); err != nil {
		return nil, nil, fmt.Errorf("the record of crashes cannot be written: %w", err)
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
	closeLog = func() {
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		_ = file.Close()
	}
	return slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})), closeLog, nil
}

func recordCrashes(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > maxCrash {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(debug.SetCrashOutput(file, debug.CrashOptions{}), file.Close()) // Go keeps a copy
}
