//go:build linux && system

package wsl_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
	"github.com/forevervm/desktop/backend/home/hometest"
)

// The story of TestTheStory with the build for Windows, under Wine.
func TestTheStoryOnWindows(t *testing.T) {
	env, _ := hometest.Wine(t, "wine-wsl")
	programs := wsltest.Build(t, "windows", "driver")
	windows := func(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }
	live(t, wsltest.Serve(t), func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "wine", append([]string{filepath.Join(programs, "driver.exe"), windows(filepath.Join(programs, "wsl.exe"))}, args...)...)
		cmd.Env = env
		return cmd
	}, windows)
	wait := exec.CommandContext(t.Context(), "wineserver", "--wait")
	wait.Env = env
	if err := wait.Run(); err != nil {
		t.Error(err)
	}
}
