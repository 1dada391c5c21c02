package aiapps

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/forevervm/desktop/backend/opener"
)

// Computer is what the table of apps is read against: another one lets a test look at any system's
// part of it.
type Computer struct {
	System string              // as runtime.GOOS has it: linux, darwin or windows
	Home   string              // the user's home folder
	Env    func(string) string // environment variables; "" for one that is not set
	// Programs are those of the user's programs that run and may be an AI app.
	Programs func() ([]Program, error)
	// Quit asks an app's programs to end, as its menu does, and waits until they have; again starts
	// the app as it was.
	Quit func(running []Program) (again func() error, err error)
	// Find returns the path of a program that a shell would find by this name, or "".
	Find func(name string) string
	// Open opens a file or an address in whatever program the person has for it.
	Open func(ctx context.Context, what string) error
}

// ThisComputer is the one that this program runs on.
func ThisComputer() (Computer, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Computer{}, err
	}
	return Computer{
		System: runtime.GOOS, Home: home, Env: os.Getenv, Programs: programsOf(home), Quit: quit, Open: opener.Open,
		Find: func(name string) string { return find(name, home) },
	}, nil
}

// programFolders are where a person's terminal finds programs, too, but a program that was started
// by the desktop may not: such as the daemon.
var programFolders = []string{"~/.local/bin", "~/bin", "~/.claude/local", "~/.npm-global/bin", "~/.bun/bin", "~/.opencode/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// find is Computer.Find.
func find(name, home string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range programFolders {
		if rest, ok := strings.CutPrefix(folder, "~"); ok {
			folder = home + rest
		}
		if path, err := exec.LookPath(filepath.Join(filepath.FromSlash(folder), name)); err == nil {
			return path
		}
	}
	return ""
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
	case "{claude-folder}":
		folder = c.env("CLAUDE_CONFIG_DIR", ".claude")
	case "{codex}":
		folder = c.env("CODEX_HOME", ".codex")
	case "":
		folder = string(filepath.Separator)
	}
	return filepath.Join(folder, filepath.FromSlash(rest))
}

// matches are the files and folders that a path of the table stands for.
func (c Computer) matches(path string) []string {
	start, rest, _ := strings.Cut(path, "/")
	base := c.expand(start)                                // whatever is in its name stands for itself
	found, _ := fs.Glob(os.DirFS(base), cmp.Or(rest, ".")) // the table's patterns are well formed
	for i, one := range found {
		found[i] = filepath.Join(base, filepath.FromSlash(one))
	}
	return found
}

// place is a file of an app's, and the folder that shows that the app keeps its files there.
type place struct {
	file, folder string
}

// places are where an app's files are on this computer, whether they exist or not: every folder of
// the table that exists. Where none does, the first that needs no guessing.
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

// installed says whether an app is on this computer: it has left its folder, or its program is
// there.
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
