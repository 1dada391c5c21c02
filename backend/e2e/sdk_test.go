//go:build linux

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
	python := pythonEnv(t)
	d := serve(t, newHome(t))
	script := filepath.Join(repo(t), "backend", "e2e", "testdata", "python", "program.py")
	var all sync.WaitGroup
	for _, who := range []string{"a", "b", "c"} {
		all.Go(func() {
			cmd := exec.Command(python, script, who)
			cmd.Env = d.env()
			if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "fine" {
				t.Errorf("program %s: %v\n%s", who, err, out)
			}
		})
	}
	all.Wait()
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

// The published Rust SDK works on the daemon, unchanged.
func TestRustSDK(t *testing.T) {
	d := serve(t, newHome(t))
	dir := filepath.Join(repo(t), "backend", "e2e", "testdata", "rust")
	out := run(t, dir, d.env("CARGO_TARGET_DIR="+cache(t, "rust")), "cargo", "run", "--quiet", "--locked")
	if strings.TrimSpace(out) != "fine" {
		t.Errorf("the program said %q", out)
	}
}
