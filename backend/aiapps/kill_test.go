//go:build linux

package aiapps_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps"
)

// killVariable makes the test's program a child that connects or disconnects Claude Desktop:
// "connect HOME FOLDER".
const killVariable = "AIAPPS_CHILD"

func init() {
	if os.Getenv(killVariable) != "" {
		runtime.LockOSThread() // all of its system calls are of one thread, and can be counted
	}
}

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(killVariable))
	if len(words) != 3 {
		os.Exit(m.Run())
	}
	desk := aiapps.New(aiapps.Config{Computer: computer("linux", words[1]), Server: server, Folder: words[2]})
	change := desk.Connect
	if words[0] == "disconnect" {
		change = desk.Disconnect
	}
	if _, err := change("claude", aiapps.Options{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Whenever connecting or disconnecting is killed, the file is whole, and connecting and
// disconnecting again gives back the first bytes.
func TestAKillAnywhereLosesNothing(t *testing.T) {
	const original = "{\n\t\"mcpServers\": {\n\t\t\"x\": {\"command\": \"y\"}\n\t}\n}"
	calls := []string{"openat", "write", "fsync", "fchmod", "renameat", "renameat2", "unlinkat", "mkdirat"} // what changes anything
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary) // where others' programs look, too
	defer func() {
		if left, err := os.ReadDir(temporary); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return !e.IsDir() }) {
			t.Errorf("among temporary files are left %v, %v", left, err)
		}
	}()
	for _, what := range []string{"connect", "disconnect"} {
		t.Run(what, func(t *testing.T) {
			child := func(d *desk, arguments ...string) (string, error) {
				cmd := exec.Command("strace", append(arguments, self)...)
				cmd.Env = append(os.Environ(), killVariable+"="+what+" "+d.home+" "+d.folder)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			prepare := func() (*desk, string, string) {
				d := newDesk(t, "linux")
				path := d.file("claude", []byte(original))
				if what == "disconnect" {
					d.do(d.Connect, "claude", aiapps.Options{})
				}
				return d, path, d.read(path)
			}
			d, path, before := prepare()
			trace := filepath.Join(t.TempDir(), "trace")
			if out, err := child(d, "-o", trace, "-e", "trace="+strings.Join(calls, ",")); err != nil {
				t.Fatal(err, out)
			}
			after := d.read(path)
			lines, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			times := map[string]int{} // strace counts each kind of call on its own
			begun, kills, done := false, 0, 0
			for line := range strings.Lines(string(lines)) {
				name, _, _ := strings.Cut(line, "(")
				if !regexp.MustCompile(`^[a-z]+$`).MatchString(name) {
					continue
				}
				times[name]++
				begun = begun || strings.Contains(line, d.home) || strings.Contains(line, d.folder)
				if !begun {
					continue // the Go runtime
				}
				kills++
				killed, path, _ := prepare()
				inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", name, times[name])
				if out, err := child(killed, "-o", "/dev/null", "-e", "trace="+name, "-e", inject); err == nil {
					t.Errorf("%s was to kill it, but it ended well: %s", inject, out)
				}
				switch killed.read(path) {
				case before:
				case after:
					done++
				default:
					t.Fatalf("killed by %s it holds\n%s", inject, killed.read(path))
				}
				if state := killed.state("claude"); state != aiapps.Connected && state != aiapps.NotConnected {
					t.Errorf("killed by %s it is %q", inject, state)
				}
				killed.do(killed.Connect, "claude", aiapps.Options{})
				killed.do(killed.Disconnect, "claude", aiapps.Options{})
				if got := killed.read(path); got != original {
					t.Fatalf("killed by %s, then connected and disconnected, it holds\n%q", inject, got)
				}
			}
			t.Logf("killed %d times, %d of them after the file was changed", kills, done)
			if kills < 20 || done == 0 || done == kills {
				t.Errorf("the kills did not fall into the change")
			}
		})
	}
}
