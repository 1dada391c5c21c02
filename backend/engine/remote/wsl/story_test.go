//go:build linux && real

package wsl_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
)

// A place in WSL from its installation to its removal, with a machine that survives the death of
// the agent and an update. TestTheStoryOnWindows is the same with the build for Windows.
func TestTheStory(t *testing.T) {
	programs := wsltest.Build(t, "linux", "driver")
	live(t, wsltest.Serve(t), func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), filepath.Join(programs, "driver.exe"), append([]string{filepath.Join(programs, "wsl.exe")}, args...)...)
	}, func(path string) string { return path })
}
