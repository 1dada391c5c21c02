//go:build linux && real

package daemon_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// Other users of the computer read nothing of ours, whatever the umask is: not in files, and not in
// what they see of processes.
func TestOthersSeeNothing(t *testing.T) {
	folder := connecttest.Home(t)
	before := unix.Umask(0)
	d := connecttest.Start(t, folder)
	unix.Umask(before)
	c := d.Client("test")
	defer c.Close()
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := c.Execute(t.Context(), m.Name, api.Execute{Code: "import os; os.chmod('/root/outbox', 0o777); open('/root/outbox/a.txt', 'w').write('x' * 100); print('y' * 5_000_000)"})
	if err != nil {
		t.Fatal(err)
	}
	if in, err = c.Wait(t.Context(), m.Name, in.Seq); err != nil || in.Status != "ok" {
		t.Fatalf("%+v, %v", in, err)
	}
	if _, err := c.Checkpoint(t.Context(), m.Name, "mine"); err != nil {
		t.Fatal(err)
	}
	code, err := c.OpenCode(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	_, secret, _ := strings.Cut(d.Token, ".")
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, process := range processes {
		for _, name := range []string{"cmdline", "environ"} {
			said, err := os.ReadFile(filepath.Join(process, name))
			if err != nil {
				continue // it has ended, or is another's
			}
			looked++
			if bytes.Contains(said, []byte(secret)) || bytes.Contains(said, []byte(code)) {
				t.Errorf("the %s of process %s holds a secret", name, filepath.Base(process))
			}
		}
	}
	if looked < 4 {
		t.Errorf("%d were looked at", looked)
	}
	d.Stop()

	n := 0
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		n++
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil // its mode says nothing
		}
		if info.Mode().Perm()&0o022 != 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("others may change %s: %v", path, info.Mode())
		}
		// gVisor makes its images readable. They lie in folders that are not.
		if info.Mode().Perm()&0o055 != 0 && (e.IsDir() || filepath.Ext(path) != ".img") {
			t.Errorf("others may read %s: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || n < 20 {
		t.Errorf("%d files and folders were looked at: %v", n, err)
	}
}

// Over a home that cannot be written to, the daemon does not start, and says which folder that is.
func TestAReadOnlyHome(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const script = `mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$1" serve --home "$0"`
	said, err := exec.CommandContext(ctx, "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, folder, connecttest.Program(t, "forevervm")).CombinedOutput()
	if ctx.Err() != nil || err == nil || !bytes.Contains(said, []byte(folder)) || !bytes.Contains(said, []byte("read-only")) || bytes.Contains(said, []byte("goroutine")) {
		t.Errorf("%v, it says: %s", err, said)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
}
