package aiapps

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// Computer is what the table of apps is read against: another one lets a test look at any system's part of it.
type Computer struct {
	System string              // as runtime.GOOS has it: linux, darwin or windows
	Home   string              // the user's home folder
	Env    func(string) string // environment variables; "" for one that is not set
	// Programs are the names of the user's programs that run, as the system shows them.
	Programs func() ([]string, error)
	// Find returns the path of a program that a shell would find by this name, or "".
	Find func(name string) string
}

// ThisComputer is the one that this program runs on.
func ThisComputer() (Computer, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Computer{}, err
	}
	return Computer{
		System: runtime.GOOS, Home: home, Env: os.Getenv, Programs: programs,
		Find: func(name string) string {
			path, err := exec.LookPath(name)
			if err != nil {
				return ""
			}
			return path
		},
	}, nil
}

// programs lists the names of all programs that run; those that cannot be asked are left out.
func programs() ([]string, error) {
	all, err := process.Processes()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range all {
		if name, err := one.Name(); err == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// env is an environment variable that names a folder, or what holds without it.
func (c Computer) env(name string, otherwise ...string) string {
	if value := c.Env(name); filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(append([]string{c.Home}, otherwise...)...)
}

// expand fills in the names that the table's paths begin with.
func (c Computer) expand(path string) string {
	start, rest, _ := strings.Cut(path, "/")
	var folder string
	switch start {
	case "~":
		folder = c.Home
	case "{config}":
		folder = c.env("XDG_CONFIG_HOME", ".config")
	case "{support}":
		folder = filepath.Join(c.Home, "Library", "Application Support")
	case "{appdata}":
		folder = c.env("APPDATA", "AppData", "Roaming")
	case "{localappdata}":
		folder = c.env("LOCALAPPDATA", "AppData", "Local")
	case "{claude}":
		folder = c.env("CLAUDE_CONFIG_DIR")
	case "{codex}":
		folder = c.env("CODEX_HOME", ".codex")
	case "":
		folder = string(filepath.Separator)
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// matches are the files and folders that a path of the table stands for.
func (c Computer) matches(path string) []string {
	found, _ := filepath.Glob(c.expand(path)) // the table's patterns are well formed
	return found
}

// place is a file of an app's, and the folder that shows that the app keeps its files there.
type place struct {
	file, folder string
}

// places are where an app's files are on this computer, whether they exist or not: every folder of the table that exists.
// Where none does, the first that needs no guessing.
func (c Computer) places(app App) []place {
	var there, usual []place
	for _, at := range app.Files[c.System] {
		folder, file, _ := strings.Cut(at, "//")
		if !strings.Contains(folder, "*") {
			usual = append(usual, place{filepath.Join(c.expand(folder), filepath.FromSlash(file)), c.expand(folder)})
		}
		for _, match := range c.matches(folder) {
			there = append(there, place{filepath.Join(match, filepath.FromSlash(file)), match})
		}
	}
	switch {
	case len(there) > 0 && app.FirstOnly:
		return there[:1]
	case len(there) > 0:
		return there
	}
	return usual[:min(1, len(usual))]
}

// installed says whether an app is on this computer: it has left its folder, or its program is there.
func (c Computer) installed(app App) bool {
	for _, at := range app.Files[c.System] {
		folder, _, _ := strings.Cut(at, "//")
		if c.expand(folder) != filepath.Clean(c.Home) && len(c.matches(folder)) > 0 {
			return true
		}
	}
	for _, sign := range app.Signs[c.System] {
		if program, ok := strings.CutPrefix(sign, "$"); ok {
			if c.Find(program) != "" {
				return true
			}
		} else if len(c.matches(sign)) > 0 {
			return true
		}
	}
	return false
}

// runs says whether an app runs.
func (c Computer) runs(app App, programs []string) bool {
	for _, name := range app.Processes[c.System] {
		for _, program := range programs {
			if program == name {
				return true
			}
		}
	}
	return false
}
