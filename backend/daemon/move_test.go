//go:build real

package daemon_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/home"
)

// moveCalls asks where the files are, and for a move that cannot be.
func (c *caller) moveCalls(t *testing.T) {
	c.t = t
	as[api.Move](c, c.send("GET", "/api/storage/move", nil))
	c.fails(c.send("POST", "/api/storage/move", api.MoveFiles{Folder: "here"}), 400, "Invalid")
	c.fails(c.send("POST", "/api/storage/move", api.MoveFiles{}), 400, "Invalid")
}

// move moves the files, and returns how that ended.
func (c *caller) move(folder string) api.Move {
	c.t.Helper()
	if begun := c.send("POST", "/api/storage/move", api.MoveFiles{Folder: folder}); begun.StatusCode != http.StatusAccepted {
		c.t.Fatalf("%d %s", begun.StatusCode, begun.body)
	}
	var now api.Move
	until(c.t, "the files to be moved", func() bool {
		resp, err := http.DefaultTransport.RoundTrip(c.request(c.t.Context(), "GET", "/api/storage/move", nil))
		if err != nil {
			return false // one listener has gone, the next has not come
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(&now) == nil && now.State != api.MoveUnderWay
	})
	until(c.t, "the daemon to be back", func() bool {
		resp, err := http.DefaultTransport.RoundTrip(c.request(c.t.Context(), "GET", "/api/status", nil))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return now
}

// Machines, their checkpoints and all else go along, to another folder and back.
func TestMove(t *testing.T) {
	folder := t.TempDir()
	d := start(t, folder)
	c := newSpecCaller(t, d)
	name := c.machine()
	c.run(name, "x = 1; open('kept.txt', 'w').write('kept')")
	first := as[api.Checkpoint](c, c.send("POST", "/api/machines/"+name+"/checkpoints", api.NewCheckpoint{Label: "mine"}))
	c.run(name, "x = 2")
	dirs, err := home.Resolve(folder)
	if err != nil {
		t.Fatal(err)
	}
	lives := func(want string) {
		t.Helper()
		if in := c.run(name, "x, open('kept.txt').read()"); in.Value == nil || *in.Value != want {
			t.Errorf("%+v", in)
		}
	}

	disk := t.TempDir()
	if now := c.move(disk); now.State != api.MoveDone || now.Folder != filepath.Join(disk, "ForeverVM") || now.Usual || now.DoneBytes != now.TotalBytes {
		t.Fatalf("%+v", now)
	}
	if left := namesIn(t, dirs.Usual); slices.ContainsFunc(left, func(name string) bool { return name != "daemon.lock" && name != "run" }) {
		t.Errorf("in the usual place there are %v", left)
	}
	lives("(2, 'kept')")
	c.send("POST", "/api/machines/"+name+"/rewind", api.Rewind{Checkpoint: first.ID})
	lives("(1, 'kept')")
	fork := as[api.Machine](c, c.send("POST", "/api/machines/"+name+"/fork", api.NewMachine{})).Name
	if in := c.run(fork, "x"); in.Value == nil || *in.Value != "1" {
		t.Errorf("%+v", in)
	}
	c.send("DELETE", "/api/machines/"+fork+"?purge=true", nil)

	// What is in its way, or cannot be, changes nothing.
	c.fails(c.send("POST", "/api/storage/move", api.MoveFiles{Folder: filepath.Join(disk, "ForeverVM")}), 400, "Invalid")
	other := t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "ForeverVM", "theirs"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.fails(c.send("POST", "/api/storage/move", api.MoveFiles{Folder: other}), 400, "Invalid")

	if now := c.move(""); now.State != api.MoveDone || !now.Usual || now.Folder != dirs.Usual {
		t.Fatalf("%+v", now)
	}
	if left := namesIn(t, disk); len(left) > 0 {
		t.Errorf("on the disk there are %v", left)
	}
	lives("(1, 'kept')")
}

// A disk that is away is told of. Nothing new begins in its place, and nothing is lost.
func TestTheDiskIsAway(t *testing.T) {
	folder, disk := t.TempDir(), t.TempDir()
	d, err := run(folder)
	if err != nil {
		t.Fatal(err)
	}
	c := newSpecCaller(t, d)
	name := as[api.Machine](c, c.send("POST", "/api/machines", api.NewMachine{})).Name
	c.run(name, "x = 1")
	if now := c.move(disk); now.State != api.MoveDone {
		t.Fatalf("%+v", now)
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(disk, "ForeverVM")
	if err := os.Rename(moved, moved+".away"); err != nil {
		t.Fatal(err)
	}
	if d, err := run(folder); err == nil || !strings.Contains(err.Error(), moved) || !strings.Contains(err.Error(), "Connect that disk") {
		if err == nil {
			err = d.stop()
		}
		t.Fatalf("without the disk: %v", err)
	}
	if _, err := os.Lstat(moved); !os.IsNotExist(err) {
		t.Errorf("something began at %s: %v", moved, err)
	}
	if err := os.Rename(moved+".away", moved); err != nil {
		t.Fatal(err)
	}
	c.d = start(t, folder)
	if in := c.run(name, "x"); in.Value == nil || *in.Value != "1" {
		t.Errorf("%+v", in)
	}
}

// Killed while it copies, the daemon goes on with the files where they were. What it had copied is
// removed.
func TestKilledWhileMoving(t *testing.T) {
	folder, disk := connecttest.Home(t), t.TempDir()
	run := func(d *connecttest.Daemon, name, code string) *string {
		in, err := d.Client("test").Run(t.Context(), name, api.Execute{Code: code}, func(api.Instruction) {}, func(api.Item) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return in.Value
	}
	d := connecttest.Start(t, folder)
	c := d.Client("test")
	m, err := c.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}
	run(d, m.Name, "import os; x = 1; big = os.urandom(400 << 20)")
	if _, err := c.Move(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	until(t, "the copying to begin", func() bool {
		now, err := c.Moving(t.Context())
		return err == nil && now.DoneBytes > 0
	})
	if now, err := c.Moving(t.Context()); err == nil && now.State != api.MoveUnderWay {
		t.Fatalf("nothing is left to cut off: %+v", now)
	}
	d.Kill()

	d = connecttest.Start(t, folder)
	if value := run(d, m.Name, "x, len(big)"); value == nil || *value != "(1, 419430400)" {
		t.Errorf("%v", value)
	}
	if now, err := d.Client("test").Moving(t.Context()); err != nil || now.State != api.MoveNone || !now.Usual {
		t.Errorf("%+v, %v", now, err)
	}
	if left := namesIn(t, disk); len(left) > 0 {
		t.Errorf("on the disk there are %v", left)
	}
	if err := d.Client("test").PurgeMachine(t.Context(), m.Name); err != nil {
		t.Error(err)
	}
}

func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
