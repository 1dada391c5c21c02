//go:build linux && !race

package update

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// childVariable makes the test's program a child that looks, downloads and installs, with what
// follows: folder, bin, feed, key.
const childVariable = "UPDATE_CHILD"

func init() {
	if os.Getenv(childVariable) != "" {
		runtime.LockOSThread() // the system calls of its work are of one thread, and can be counted
	}
}

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(childVariable))
	if len(words) != 4 {
		os.Exit(m.Run())
	}
	if err := updateAsChild(words[0], words[1], words[2], words[3]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func updateAsChild(folder, bin, feed, key string) error {
	keys, err := ParseKeys(key)
	if err != nil {
		return err
	}
	u, err := New(Config{Folder: folder, Bin: bin, Version: "1.0.0", Feed: feed, Keys: keys})
	if err != nil {
		return err
	}
	if _, err := u.Download(context.Background()); err != nil {
		return err
	}
	return u.Staged().Apply(context.Background(), bin, "1.0.0", keys, io.Discard)
}

// Whenever an update is killed, or the disk is full, the program that is installed starts, nothing
// but what was signed stands under its name, and the next update goes through.
func TestAnUpdateIsInterruptedAtEachSystemCall(t *testing.T) {
	const (
		before, after = "#!/bin/sh\necho 1.0.0\n", "#!/bin/sh\necho 1.1.0\n"
		installer     = "#!/bin/sh\n[ \"$1 $2\" = 'install --yes' ] || exit 9\ninstall -m 755 \"$3\" \"$BIN/new\" && mv \"$BIN/new\" \"$BIN/forevervm\"\n" // as a system's does: all at once
	)
	calls := []string{"openat", "mkdirat", "write", "fsync", "fchmod", "ftruncate", "renameat", "renameat2", "unlinkat", "clone", "clone3", "waitid"} // what changes anything
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools, temporary := t.TempDir(), t.TempDir()
	write(t, filepath.Join(tools, "apt-get"), []byte(installer))
	write(t, filepath.Join(tools, "dpkg"), []byte("#!/bin/sh\n"))
	r := newReleases(t)
	r.announce("1.1.0", after, nil)
	prepare := func(t *testing.T) {
		t.Helper()
		r.config.Folder, r.config.Bin = filepath.Join(t.TempDir(), "updates"), t.TempDir()
		write(t, filepath.Join(r.config.Bin, packageFile), []byte("deb\n"))
		write(t, filepath.Join(r.config.Bin, "forevervm"), []byte(before))
	}
	child := func(t *testing.T, command ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], self)...)
		cmd.Env = []string{
			"PATH=" + tools + ":" + os.Getenv("PATH"), "TMPDIR=" + temporary, "BIN=" + r.config.Bin, "GOMAXPROCS=1",
			childVariable + "=" + strings.Join([]string{r.config.Folder, r.config.Bin, r.url, r.keys[0].String()}, " "),
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	runs := func(t *testing.T) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(r.config.Bin, "forevervm")).CombinedOutput()
		if err != nil {
			t.Fatalf("what is installed does not start: %v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}

	prepare(t)
	trace := filepath.Join(t.TempDir(), "trace")
	if out, err := child(t, "strace", "-o", trace, "-e", "trace="+strings.Join(calls, ",")); err != nil {
		t.Fatal(err, out)
	}
	if runs(t) != "1.1.0" {
		t.Fatal("it was not installed")
	}
	lines, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{} // strace counts each kind of call on its own
	begun, kills, old := false, 0, 0
	for line := range strings.Lines(string(lines)) {
		name, _, _ := strings.Cut(line, "(")
		if !regexp.MustCompile(`^[a-z0-9]+$`).MatchString(name) {
			continue
		}
		times[name]++
		begun = begun || strings.Contains(line, r.config.Folder)
		if !begun || strings.Contains(line, "O_RDONLY") {
			continue // the Go runtime, and what changes nothing
		}
		faults := []string{"signal=KILL"}
		if name == "write" || name == "fsync" {
			faults = append(faults, "error=ENOSPC")
		}
		for _, fault := range faults {
			inject := fmt.Sprintf("inject=%s:%s:when=%d", name, fault, times[name])
			t.Run(inject, func(t *testing.T) {
				prepare(t)
				out, err := child(t, "strace", "-o", "/dev/null", "-e", "trace="+name, "-e", inject)
				is := runs(t)
				if is == "1.0.0" {
					old++
				}
				if err != nil {
					kills++
				} else if is != "1.1.0" {
					t.Errorf("it ended well, but %s is installed: %s", is, out)
				}
				if is != "1.0.0" && is != "1.1.0" {
					t.Errorf("%q is installed", is)
				}
				if got, err := os.ReadFile(filepath.Join(r.config.Folder, "forevervm-1.1.0.deb")); err == nil && string(got) != after {
					t.Errorf("under the package's name is %q", got)
				}
				if out, err := child(t, "env"); err != nil || runs(t) != "1.1.0" {
					t.Errorf("the next one: %v, %s", err, out)
				}
			})
		}
	}
	t.Logf("interrupted %d times, %d of them before the new version was there", kills, old)
	if kills < 20 || old == 0 || old == kills {
		t.Errorf("the interruptions did not fall into the update: %d, %d", kills, old)
	}
}
