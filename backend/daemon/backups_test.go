//go:build real

package daemon_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
)

// backedUp makes a round of backups.
func (c *caller) backedUp(t *testing.T) api.Backups {
	t.Helper()
	now := as[api.Backups](c, c.send("POST", "/api/backups/run", nil))
	until(t, "the backups to be made", func() bool {
		now = as[api.Backups](c, c.send("GET", "/api/backups", nil))
		return !now.Running
	})
	return now
}

// backupCalls backs up into a folder, and stops that.
func (c *caller) backupCalls(t *testing.T) {
	c.t = t
	as[api.Settings](c, c.send("PATCH", "/api/settings", map[string]any{"backup_folder": t.TempDir()}))
	if now := c.backedUp(t); now.Problem != "" {
		t.Error(now.Problem)
	}
	as[api.Settings](c, c.send("PATCH", "/api/settings", map[string]any{"backup_folder": nil}))
}

// fileOf is the last copy of a machine; "" for none.
func fileOf(now api.Backups, name string) string {
	for _, one := range now.Copies {
		if one.Machine == name {
			return one.File
		}
	}
	return ""
}

// A machine comes back from its copy with its variables, after it was removed for good.
func TestBackups(t *testing.T) {
	c := newSpecCaller(t, sharedDaemon(t))
	c.fails(c.send("POST", "/api/backups/run", nil), http.StatusConflict, "Conflict")
	folder := t.TempDir()
	set := func(change map[string]any) answer { return c.send("PATCH", "/api/settings", change) }
	defer set(map[string]any{"backup_folder": nil, "backup_keep": nil})
	status := as[api.Status](c, c.send("GET", "/api/status", nil))
	for _, wrong := range []any{"relative", filepath.Join(folder, "none"), status.Home, filepath.Join(status.Home, "machines"), status.Folder, 7} {
		c.fails(set(map[string]any{"backup_folder": wrong}), http.StatusBadRequest, "Invalid")
	}
	as[api.Settings](c, set(map[string]any{"backup_folder": folder, "backup_keep": 2}))

	name, left := c.machine(), c.machine()
	c.run(name, "x = 'kept'")
	c.run(left, "y = 1")
	as[api.Machine](c, c.send("PATCH", "/api/machines/"+left, api.MachineChange{Tags: map[string]*string{"no-backup": new("true")}}))
	until(t, "the machine to be saved", func() bool {
		saved := as[api.List[api.Checkpoint]](c, c.send("GET", "/api/machines/"+name+"/checkpoints", nil)).Items
		return len(saved) > 0 && saved[0].Present && saved[0].LastSeq == 0
	})
	first := c.backedUp(t)
	if first.Problem != "" || first.GoodAt == nil || fileOf(first, name) == "" || fileOf(first, left) != "" {
		t.Fatalf("%+v", first)
	}
	file := fileOf(first, name)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 || !strings.HasPrefix(file, filepath.Join(folder, name)) {
		t.Errorf("%v %v", info, err)
	}
	if again := c.backedUp(t); fileOf(again, name) != file {
		t.Error("a machine that has not changed was copied again")
	}
	// What a daemon that was killed left goes with the next copy; what is not ours stays.
	for _, other := range []string{".forevervm-1", "film.part", name + " 2020.fvm"} {
		if err := os.WriteFile(filepath.Join(folder, name, other), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, code := range []string{"x += ' on'", "x += ' and on'"} {
		c.run(name, code)
		before := file
		until(t, "the change to be backed up", func() bool {
			file = fileOf(c.backedUp(t), name)
			return file != before
		})
	}
	entries, err := os.ReadDir(filepath.Join(folder, name))
	if err != nil || len(entries) != 4 { // two copies, and two files that are not ours
		t.Errorf("%v: %v", err, entries)
	}

	c.fails(c.send("PUT", "/api/machines/"+left+"/shared", map[string]any{"path": folder, "writable": false}), http.StatusBadRequest, "Invalid")
	c.send("DELETE", "/api/machines/"+name+"?purge=true", nil)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	back := as[api.Machine](c, c.send("POST", "/api/unpack?name=restored-machine", bytes.NewReader(data)))
	defer c.send("DELETE", "/api/machines/"+back.Name+"?purge=true", nil)
	if in := c.run(back.Name, "x"); in.Value == nil || *in.Value != "'kept on and on'" {
		t.Errorf("%+v", in)
	}

	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	lost := c.backedUp(t)
	if !strings.Contains(lost.Problem, folder) || lost.GoodAt == nil {
		t.Errorf("%+v", lost)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder of a disk that is not there was made")
	}
	told := as[api.Status](c, c.send("GET", "/api/status", nil))
	if !strings.Contains(strings.Join(told.Warnings, " "), folder) {
		t.Errorf("the person is told %q", told.Warnings)
	}
}
