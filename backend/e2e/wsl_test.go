//go:build linux && system

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
)

// Windows' build has its machines in WSL, without Docker: it sets itself up there, a machine draws
// a plot and outlives kill -9 of the daemon, Claude Desktop uses another one, and removing the data
// removes the distribution. A stand-in for wsl.exe passes all on to a real agent on this Linux.
func TestWindowsBuildRunsMachinesInWSL(t *testing.T) {
	w := underWine(t)
	nodeProject(t)
	place := wsltest.Serve(t)
	place.Drive = w.drive
	standIn := filepath.Join(w.drive, "windows", "system32", "wsl.exe")
	content, err := os.ReadFile(filepath.Join(wsltest.Build(t, "windows"), "wsl.exe"))
	if err == nil {
		err = os.WriteFile(standIn, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(standIn); err != nil {
			t.Error(err)
		}
	})
	w.env = append(w.env, wsltest.Address+"="+place.Address)
	data := w.folder("AppData/Local/ForeverVM")
	defer w.endDaemon(data)

	said := func(args ...string) string { t.Helper(); return strings.TrimSpace(w.forevervm(args...)) }
	if got := said("machine", "new", "--name", "first"); got != "first" {
		t.Fatalf("a new machine is called %q", got)
	}
	const plot = "import matplotlib.pyplot as plt\nx = 41\n_ = plt.plot([1, 2, x])"
	pictures := w.folder("Pictures")
	said("exec", "first", plot, "--plots", `C:\users\person\Pictures`)
	if drawn, err := filepath.Glob(filepath.Join(pictures, "*.png")); err != nil || len(drawn) != 1 {
		t.Errorf("a plot gives %v, %v", drawn, err)
	}
	if name := place.Distribution(); name != "ForeverVM" {
		t.Errorf("the distribution is called %q", name)
	}
	w.kill9()
	if got := said("exec", "first", "x + 1"); got != "42" {
		t.Errorf("after kill -9, there is %q", got)
	}
	claude := filepath.Join(w.folder("AppData/Roaming/Claude"), "claude_desktop_config.json")
	said("connect", "claude")
	if got := w.must("env", "STARTED_BY=wine", "node", "ai-app.mjs", "claude", "claude-ai", claude); !strings.Contains(got, "fine") {
		t.Errorf("Claude Desktop is told %q", got)
	}
	w.uninstall()
	if name := place.Distribution(); name != "" {
		t.Errorf("the distribution %q stays", name)
	}
}

// kill9 kills the daemon that runs under this Windows.
func (w *windows) kill9() {
	w.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	killed := 0
	for _, process := range all {
		line, err := os.ReadFile(filepath.Join(process, "cmdline"))
		args := strings.Split(string(line), "\x00")
		if err != nil || len(args) < 2 || !strings.HasSuffix(args[0], "forevervm.exe") || args[1] != "serve" {
			continue // or it ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		w.t.Fatalf("%d daemons were killed", killed)
	}
}
