//go:build linux && real

package aiapps_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const refusedFile = `{"mcpServers": {"x": {"command": "y"}}}`

// The disk refuses: the person is told why and what to do, and the file is as it was. Each script
// gets the folder of the app's settings, ours, this program, and what the file holds, in a mount
// namespace of its own.
func TestWhatIsSaidOfADisk(t *testing.T) {
	const full = ` && ! head -c 1M /dev/zero 2>/dev/null `
	for name, test := range map[string]struct{ script, says string }{
		"the app's is full":    {`mount -t tmpfs -o size=16k none "$0" && printf %s "$3" >"$0/claude_desktop_config.json"` + full + `>"$0/filler"`, "claude_desktop_config.json is full. Make room and try again."},
		"ours is full":         {`mount -t tmpfs -o size=16k none "$1"` + full + `>"$1/filler"`, "apps is full. Make room and try again."},
		"it cannot be written": {`mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"`, "claude_desktop_config.json is on a disk that cannot be written to."},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "linux")
			path := d.file("claude", []byte(refusedFile))
			self, err := os.Executable()
			if err := errors.Join(err, os.Mkdir(d.folder, 0o700)); err != nil {
				t.Fatal(err)
			}
			script := test.script + ` || exit 9; "$2"; cat "$0/claude_desktop_config.json"; ls -A "$0"`
			cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, filepath.Dir(path), d.folder, self, refusedFile)
			cmd.Env = append(os.Environ(), killVariable+"=connect "+d.home+" "+d.folder)
			out, err := cmd.CombinedOutput()
			said, left, ok := strings.Cut(string(out), refusedFile)
			if err != nil || !ok || !strings.HasPrefix(said, "Nothing was changed: ") || !strings.Contains(said, test.says) || strings.Contains(left, ".tmp") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// The same of rights. As root may do anything, another user tries then.
func TestWhatIsSaidOfRights(t *testing.T) {
	base, err := os.MkdirTemp("", "aiapps") // where every user gets to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	d := &desk{t: t, home: filepath.Join(base, "home"), folder: filepath.Join(base, "apps")}
	path, program := d.file("claude", []byte(refusedFile)), filepath.Join(base, "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err := errors.Join(err, os.WriteFile(program, self, 0o755), os.Mkdir(d.folder, 0o700), os.Chmod(base, 0o755)); err != nil {
		t.Fatal(err)
	}
	command, root := []string{program}, os.Geteuid() == 0
	if root {
		for _, one := range append(tree(t, d.home), d.folder) {
			if err := os.Chown(one, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		command = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, command...)
	}
	connect := func(says string) {
		t.Helper()
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), killVariable+"=connect "+d.home+" "+d.folder)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "Nothing was changed: ") || !strings.Contains(string(out), says) {
			t.Errorf("%v: %s", err, out)
		}
	}
	change := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	change(filepath.Dir(path), 0o555)
	connect("you are not allowed to read and write " + path + " and its folder. Allow it, or ask")
	change(filepath.Dir(path), 0o755)
	change(path, 0o444)
	connect(path + " is read-only. Allow yourself to write to it")
	change(path, 0o200)
	connect("you are not allowed to read and write " + path)
	change(path, 0o644)
	if root {
		if err := os.Chown(path, 0, 0); err != nil {
			t.Fatal(err)
		}
		connect(path + " belongs to another user")
	}
	if got := d.read(path); got != refusedFile {
		t.Errorf("it is %s", got)
	}
}
