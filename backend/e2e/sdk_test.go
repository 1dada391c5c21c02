//go:build linux && real

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Several processes of the published Python SDK work at once on one daemon, unchanged.
func TestPythonSDK(t *testing.T) {
	together(t, serve(t, newHome(t)), pythonPrograms(t, "a", "b", "c"))
}

// together runs programs on a daemon, all at once; each ends with the word fine.
func together(t *testing.T, d *daemon, programs [][]string) {
	t.Helper()
	var all sync.WaitGroup
	for _, p := range programs {
		all.Go(func() {
			cmd := exec.Command(p[0], p[1:]...)
			cmd.Env = d.env()
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "fine" {
				t.Errorf("program %v: %v\n%s", p, err, out)
			}
		})
	}
	all.Wait()
}

// pythonPrograms are commands of a program with the Python SDK, each under a name of its own.
func pythonPrograms(t *testing.T, names ...string) (commands [][]string) {
	t.Helper()
	python, script := pythonEnv(t), filepath.Join(repo(t), "backend", "e2e", "testdata", "python", "program.py")
	for _, name := range names {
		commands = append(commands, []string{python, script, name})
	}
	return commands
}

// pythonEnv is the interpreter of a virtual environment with the SDK, made once.
func pythonEnv(t *testing.T) string {
	t.Helper()
	dir := cache(t, "python")
	python := filepath.Join(dir, "bin", "python")
	requirements := filepath.Join(repo(t), "backend", "e2e", "testdata", "python", "requirements.txt")
	if _, err := os.Stat(python); err != nil {
		run(t, dir, os.Environ(), "python3", "-m", "venv", dir)
	}
	run(t, dir, os.Environ(), python, "-m", "pip", "install", "--quiet", "--requirement", requirements)
	return python
}
