//go:build linux && (real || system)

package wsl_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/engine/native/nativetest"
	"github.com/forevervm/desktop/backend/engine/remote/wsl/wsltest"
	"github.com/forevervm/desktop/backend/home/hometest"
)

// live has a driver live through the story. path is what it calls a file of this computer.
func live(t *testing.T, w *wsltest.WSL, driver func(args ...string) *exec.Cmd, path func(string) string) {
	t.Helper()
	bin := hometest.Bin(t, "agent", "supervisor", "runsc", "image/base.erofs")
	w.Answer("--status", &wsltest.Answer{Says: "WSL ist nicht installiert.\r\n", Code: 50})
	outside := map[string]func() error{
		"kill the agent": func() error {
			for _, p := range agents(t, w) {
				if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
					return err
				}
			}
			return nil
		},
		"see what is left": func() error {
			if left := nativetest.Supervised(t, filepath.Join(w.Root, "home/forevervm/data")); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
			return nil
		},
	}
	if path("/") == "/" { // Windows' build installs it itself
		outside["install WSL"] = func() error { w.Answer("--status", nil); return nil }
	}
	cmd := driver(path(filepath.Join(t.TempDir(), "place")), path(bin), path(later(t, bin)))
	cmd.Env = append(cmd.Environ(), wsltest.Address+"="+w.Address)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	for scan := bufio.NewScanner(out); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		t.Log(line)
		ended = ended || line == "the end"
		what, ok := strings.CutPrefix(line, "please ")
		if !ok {
			continue
		}
		err := outside[what]()
		if err == nil {
			_, err = in.Write([]byte("done\n"))
		}
		if err != nil {
			t.Error(err)
			in.Close()
		}
		delete(outside, what)
	}
	if err := cmd.Wait(); err != nil || !ended || len(outside) > 0 {
		t.Errorf("the driver ended early: %v; not asked for is %v", err, outside)
	}
	if _, err := os.Stat(w.Root); w.Distribution() != "" || !errors.Is(err, os.ErrNotExist) || !w.Asked("--terminate ForeverVM") {
		t.Errorf("the distribution %q stays, or was never ended: %v", w.Distribution(), err)
	}
}

// agents are those of the place.
func agents(t *testing.T, w *wsltest.WSL) (all []nativetest.Process) {
	for _, p := range w.Processes(t) {
		if strings.HasSuffix(p.Args[0], "/bin/agent") {
			all = append(all, p)
		}
	}
	if len(all) != 1 {
		t.Errorf("agents are %v", all)
	}
	return all
}

// later are parts of a version after that in bin: another agent.
func later(t *testing.T, bin string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "image"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"supervisor", "runsc", "image/base.erofs"} {
		if err := os.Symlink(filepath.Join(bin, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	agent, err := os.ReadFile(filepath.Join(bin, "agent"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "agent"), append(agent, "later"...), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}
