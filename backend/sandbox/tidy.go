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

// Tidy removes what a supervisor that was killed left behind in the machine's folder and among the control groups. It
// fails with ErrLocked when a supervisor lives.
func Tidy(machineDir string) error {
	if _, err := os.Stat(machineDir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := Lock(machineDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	cgroup.Remove(cgroup.Name(machineDir))
	return tidy(machineDir)
}

// tidy is Tidy for the holder of the lock.
func tidy(machineDir string) error {
	return errors.Join(
		os.RemoveAll(filepath.Join(machineDir, filepath.Base(scratchPath))),
		checkpoint.Folder(filepath.Join(machineDir, checkpointsName)).Sweep(),
	)
}
