//go:build linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/cgroup"
)

// confinedTo is set in the process that confines itself: to its folder.
const confinedTo = "FOREVERVM_TEST_CONFINED_TO"

// A confined supervisor does in its folder what it has to, and finds no other file.
func TestConfined(t *testing.T) {
	folder := os.Getenv(confinedTo)
	if folder == "" {
		if v, _, err := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); err != 0 || v < 2 {
			t.Fatalf("this kernel's Landlock has version %d: %v", v, err)
		}
		folder := filepath.Join(t.TempDir(), "own")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConfined$")
		cmd.Env = append(os.Environ(), confinedTo+"="+folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	beside := filepath.Dir(folder)
	h := &home{folder: folder, group: &cgroup.Group{}}
	if err := h.confine(); err != nil {
		t.Fatal(err)
	}
	old, next := filepath.Join(folder, "old", "file"), filepath.Join(folder, "new", "file")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(old), 0o700), os.MkdirAll(filepath.Dir(next), 0o700),
		os.WriteFile(old, []byte("x"), 0o600), os.Rename(old, next), os.Truncate(next, 0), os.RemoveAll(filepath.Dir(next)),
	); err != nil {
		t.Errorf("in its own folder: %v", err)
	}
	_, read := os.ReadFile("/etc/passwd")
	_, list := os.ReadDir("/")
	for what, err := range map[string]error{
		"reading": read, "listing": list,
		"writing": os.WriteFile(filepath.Join(beside, "x"), nil, 0o600),
		"moving":  os.Rename(folder, folder+"2"),
		"running": exec.Command("/bin/true").Run(),
	} {
		if !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
