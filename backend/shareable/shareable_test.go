package shareable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

// person is a home with folders of all kinds.
func person(t *testing.T) (Rules, func(path ...string) string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) string { return filepath.Join(append([]string{home}, path...)...) }
	for _, folder := range []string{"Documents/Report", ".ssh/keys", ".local/share/forevervm/machines", ".config/forevervm", "Tools/bin", "Closed"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("Documents", "file.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return Rules{Home: home, Own: []string{at(".local", "share", "forevervm"), at(".config", "forevervm")}, Programs: at("Tools", "bin")}, at
}

func TestFoldersThatMayBeShared(t *testing.T) {
	rules, at := person(t)
	for _, folder := range []string{"Documents", "Documents/Report"} {
		for _, writable := range []bool{false, true} {
			if got, err := rules.Check(at(folder)+string(filepath.Separator), writable); err != nil || got != at(filepath.FromSlash(folder)) {
				t.Errorf("%s: %q, %v", folder, got, err)
			}
		}
	}
	for _, folder := range []string{"Tools", "Tools/bin"} {
		if _, err := rules.Check(at(folder), false); err != nil {
			t.Errorf("%s, to be read: %v", folder, err)
		}
	}
}

// refused expects a sentence that names the folder, says why and what to do.
func refused(t *testing.T, r Rules, path string, writable bool, why string) {
	t.Helper()
	_, err := r.Check(path, writable)
	if err == nil || !errors.Is(err, machine.ErrInvalid) || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v", path, err)
	}
}

func TestFoldersThatMayNotBeShared(t *testing.T) {
	rules, at := person(t)
	refused(t, rules, "Documents", false, "whole path")
	refused(t, rules, at("Nothing"), false, "no folder")
	refused(t, rules, at("Documents", "file.txt"), false, "is a file")
	for _, folder := range []string{".local/share/forevervm", ".local/share/forevervm/machines", ".local", ".config/forevervm", ".config"} {
		refused(t, rules, at(folder), false, "its own files")
	}
	refused(t, rules, at(), false, "its own files")
	refused(t, rules, filepath.Dir(at()), false, "its own files")
	refused(t, rules, at(".ssh"), false, "keys and passwords")
	refused(t, rules, at(".ssh", "keys"), false, "keys and passwords")
	refused(t, rules, at("Tools"), true, "programs")
	refused(t, rules, at("Tools", "bin"), true, "programs")
	rules.Own = nil // somewhere else
	refused(t, rules, at(), false, "home folder")
	refused(t, rules, filepath.Dir(at()), false, "home folder")
}

func TestSystemFolders(t *testing.T) {
	rules, _ := person(t)
	folders := map[string][]string{
		"linux": {"/", "/etc", "/usr/share", "/proc/self", "/dev/shm", "/sys", "/run", "/var/lib", "/tmp",
			"/proc/self/root", "/proc/self/root/etc", "/proc/1/cwd", "/proc/1/root", "/proc/self/fd", "/proc/self/task", "/dev/fd", "/dev/pts", "//etc//", "/usr/../etc", "/etc/.", "/var/run", "/boot", "/root/.."},
		"darwin": {"/", "/etc", "/usr/share", "/dev", "/Library", "/Users", "/Volumes"},
	}[runtime.GOOS]
	if runtime.GOOS == "windows" {
		folders = []string{os.Getenv("SystemRoot"), filepath.Join(os.Getenv("SystemRoot"), "System32")}
	}
	for _, folder := range folders {
		if _, err := rules.Check(folder, false); err == nil {
			t.Errorf("%s may be shared", folder)
		}
	}
}

// A folder is judged by where it is, and called that, whatever leads to it.
func TestLinksAreFollowedWhenAFolderIsChosen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right of their own there")
	}
	rules, at := person(t)
	for link, to := range map[string]string{"report": at("Documents", "Report"), "harmless": at(".ssh"), "docs": at("Documents")} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := rules.Check(at("report"), false); err != nil || got != at("Documents", "Report") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := rules.Check(at("docs", "Report"), false); err != nil || got != at("Documents", "Report") {
		t.Errorf("%q, %v", got, err)
	}
	refused(t, rules, at("harmless"), false, "keys and passwords")
}
