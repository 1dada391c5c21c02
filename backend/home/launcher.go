package home

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Launcher is the path by which other programs, such as AI apps, are told to start this one: on
// Linux a symbolic link that outlives an update which moves the program (PointLauncher), elsewhere
// the program itself, which an update replaces where it is.
func (d Dirs) Launcher(executable string) string {
	if runtime.GOOS != "linux" {
		return executable
	}
	return filepath.Join(d.launcherDir(), "forevervm")
}

func (d Dirs) launcherDir() string { return filepath.Join(d.Data, "bin") }

// programFile says where the program is, on systems without a link that leads to it.
func (d Dirs) programFile() string { return filepath.Join(d.launcherDir(), "program.txt") }

// Program is the forevervm program that last ran here (PointLauncher), or "" where none did or it
// is gone. Claude Desktop's extension, which lies elsewhere, finds it so.
func (d Dirs) Program() string {
	path := d.Launcher("")
	if path == "" {
		noted, err := os.ReadFile(d.programFile())
		if err != nil {
			return ""
		}
		path = string(noted)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// PointLauncher makes the launcher lead to this executable, and Program return it.
func (d Dirs) PointLauncher(executable string) error {
	if err := os.MkdirAll(d.launcherDir(), 0o700); err != nil {
		return err
	}
	link := d.Launcher(executable)
	if link == executable {
		if noted, err := os.ReadFile(d.programFile()); err == nil && string(noted) == executable {
			return nil
		}
		return WritePrivate(d.programFile(), []byte(executable))
	}
	if now, err := os.Readlink(link); err == nil && now == executable {
		return nil
	}
	fresh, err := os.MkdirTemp(filepath.Dir(link), ".new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	return errors.Join(os.Symlink(executable, filepath.Join(fresh, "forevervm")), os.Rename(filepath.Join(fresh, "forevervm"), link))
}
