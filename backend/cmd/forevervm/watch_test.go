//go:build !windows && real

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
)

// What was there is shown first, then every change, also after the daemon was replaced; Ctrl-C ends
// it well.
func TestWatching(t *testing.T) {
	c, err := connect.Daemon(t.Context(), connect.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tags := map[string]string{"watched": "yes"}
	before, err := c.CreateMachine(t.Context(), api.NewMachine{Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(connecttest.Program(t, "forevervm"), "--json", "machine", "list", "--watch", "--tag", "watched=yes")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // or it would start the daemon again and again
	lines := bufio.NewScanner(out)
	next := func(what string, right func(api.Machine) bool) {
		t.Helper()
		for lines.Scan() {
			var m api.Machine
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Fatalf("%v: %s", err, lines.Bytes())
			}
			if right(m) {
				return
			}
		}
		t.Errorf("it ended before %s was shown: %v", what, lines.Err())
	}
	next("what was there", func(m api.Machine) bool { return m.Name == before.Name })
	made, err := c.CreateMachine(t.Context(), api.NewMachine{Tags: tags})
	if err != nil {
		t.Fatal(err)
	}
	next("a new machine", func(m api.Machine) bool { return m.Name == made.Name })
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	title := "changed"
	connecttest.Eventually(t, "the next daemon takes a change", func() bool {
		_, err := c.UpdateMachine(t.Context(), made.Name, api.MachineChange{Title: &title})
		return err == nil
	})
	next("a change under the next daemon", func(m api.Machine) bool { return m.Name == made.Name && m.Title == title })
	if err := c.DeleteMachine(t.Context(), made.Name); err != nil {
		t.Fatal(err)
	}
	next("a deletion", func(m api.Machine) bool { return m.ID == made.ID && m.State == "deleted" })
	if err := c.PurgeMachine(t.Context(), before.Name); err != nil {
		t.Fatal(err)
	}
	next("a removal for good", func(m api.Machine) bool { return m.ID == before.ID && m.State == "deleted" })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted, it ended with %v", err)
	}
}
