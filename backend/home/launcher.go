package home

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Launcher is the path by which other programs, such as AI apps, are told to start this one: on Linux a symbolic link that outlives an
// update which moves the program (PointLauncher), elsewhere the program itself, which an update replaces where it is.
func (d Dirs) Launcher(executable string) string {
	if runtime.GOOS != "linux" {
		return executable
	}
	return filepath.Join(d.Data, "bin", "forevervm")
}

// PointLauncher makes the launcher lead to this executable.
func (d Dirs) PointLauncher(executable string) error {
	link := d.Launcher(executable)
	if link == executable {
		return nil
	}
	if now, err := os.Readlink(link); err == nil && now == executable {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(link), ".new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	return errors.Join(os.Symlink(executable, filepath.Join(fresh, "forevervm")), os.Rename(filepath.Join(fresh, "forevervm"), link))
}
