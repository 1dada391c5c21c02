//go:build linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forevervm/desktop/backend/checkpoint"
	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// Tidy removes what a supervisor that was killed left behind in a machine's folder, or a spare's,
// and among the control groups. It fails with ErrLocked when a supervisor lives.
func Tidy(machineDir string) error {
	if _, err := os.Stat(machineDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := Lock(machineDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if group := groupOf(lock); group != "" {
		cgroup.Remove(group)
	}
	return tidy(machineDir)
}

// tidy is Tidy for the holder of the lock.
func tidy(machineDir string) error {
	return errors.Join(
		os.RemoveAll(filepath.Join(machineDir, filepath.Base(scratchPath))),
		os.RemoveAll(filepath.Join(machineDir, restoreName)),
		checkpoint.Folder(filepath.Join(machineDir, checkpointsName)).Sweep(),
	)
}
