//go:build linux && real && system && soak

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What a Mac does, done by QEMU: the daemon's usual engine is a virtual machine, which starts when
// it is needed. Its machines outlive the death of the daemon and of the virtual machine,
// are copied, and reach the network by the daemon's rules.
func TestMachinesInAVirtualMachine(t *testing.T) {
	t.Setenv("FOREVERVM_VM", "tcg")
	program(t, filepath.Join("guest", runtime.GOARCH, "kernel"))
	home := newHome(t)
	d := serve(t, home)
	runs := func() int {
		said, err := os.ReadFile(filepath.Join(home, "data", "vm", "machine"))
		if err != nil {
			return 0
		}
		pid, _ := strconv.Atoi(strings.Fields(string(said) + " 0")[0])
		if syscall.Kill(pid, 0) != nil {
			return 0
		}
		return pid
	}
	cli := func(args ...string) string {
		t.Helper()
		out, err := d.cli(args...)
		if err != nil {
			t.Fatalf("%v\ndaemon's log:\n%s", err, d.log)
		}
		return strings.TrimSpace(out)
	}
	exec := func(name, code, want string) {
		t.Helper()
		if got := cli("exec", name, code); got != want {
			t.Errorf("%s on %s gives %q", code, name, got)
		}
	}

	cli("machine", "new", "--name", "first")
	exec("first", "x = 41\nx + 1", "42")
	var machine struct{ Engine, State string }
	d.mustCall("GET", "/api/machines/first", nil, &machine)
	if machine.Engine != "vm" || runs() == 0 {
		t.Fatalf("it runs at %q, and process %d runs the virtual machine", machine.Engine, runs())
	}

	kept := runs()
	d.kill9()
	d.start()
	exec("first", "x", "41")
	if runs() != kept {
		t.Error("the next daemon has started another virtual machine")
	}

	// With other limits, the next daemon ends it in order, and starts another.
	cli("settings", "set", "vm_memory_mb", "3072")
	d.kill9()
	d.start()
	exec("first", "x", "41")
	if runs() == kept {
		t.Error("a virtual machine goes on with the limits of before")
	}
	kept = runs()

	if err := syscall.Kill(kept, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := until(patience, func() error { // a step that was under way then would be told to have stopped
		d.mustCall("GET", "/api/machines/first", nil, &machine)
		if machine.State != "swapped" {
			return fmt.Errorf("without its virtual machine, it is %s", machine.State)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	exec("first", "x", "41")

	cli("machine", "copy", "first", "--name", "second")
	exec("second", "x += 1; x", "42")
	exec("first", "x", "41")

	reach := "import urllib.request\ntry:\n  urllib.request.urlopen('http://169.254.169.254/', timeout=20)\nexcept Exception as e:\n  print('refused' if '403' in str(e) else e)"
	exec("first", reach, "refused")

	// QEMU's processor is another than this computer's, without its help.
	if out, err := d.cli("machine", "move", "second", "--to", "native"); err == nil || !strings.Contains(err.Error(), "second stays where it is, and nothing is lost.") {
		t.Errorf("a machine of another processor moves: %s, %v", out, err)
	}
	exec("second", "x", "42")

	for _, name := range []string{"first", "second"} {
		cli("machine", "delete", name)
	}
	pid := runs()
	d.stop()
	if err := until(patience, func() error {
		if syscall.Kill(pid, 0) == nil {
			return fmt.Errorf("process %d still runs the virtual machine", pid)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}

	// With a daemon that has nothing to do there, it does not start.
	d.start()
	d.mustCall("GET", "/api/status", nil, &struct{}{})
	if runs() != 0 {
		t.Error("a virtual machine runs that nobody has asked for")
	}
}
