//go:build linux

package safefile_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/forevervm/desktop/backend/aiapps/safefile"
)

// replaceVariable makes the test's program a child that replaces the file of that path, and says
// how that went.
const replaceVariable = "SAFEFILE_REPLACE"

const newText = "the new text, which is longer than the old"

func TestMain(m *testing.M) {
	if path := os.Getenv(replaceVariable); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

func init() {
	if os.Getenv(replaceVariable) != "" {
		runtime.LockOSThread() // all system calls of the write are of one thread, and can be counted
	}
}

func child(path string) int {
	file, err := safefile.Read(path)
	if err == nil {
		if os.Getenv("SAFEFILE_WAIT") != "" { // until the parent has changed it
			fmt.Println("read")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
		_, err = file.Replace([]byte(newText))
	}
	switch {
	case err == nil:
		fmt.Println("done")
		return 0
	case errors.Is(err, safefile.ErrChanged):
		fmt.Println("changed")
	case errors.Is(err, safefile.ErrRefused):
		fmt.Println("refused:", err)
	case errors.Is(err, fs.ErrPermission):
		fmt.Println("no permission")
	case errors.Is(err, syscall.ENOSPC):
		fmt.Println("disk full")
	case errors.Is(err, syscall.EROFS):
		fmt.Println("read-only disk")
	default:
		fmt.Println(err)
	}
	return 3
}

// asChild replaces a file in a child, started as given; what the child says comes back.
func asChild(t *testing.T, path string, before ...string) (said string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(before, self)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), replaceVariable+"="+path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return strings.TrimSpace(out.String()), err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// The child is killed at each of its system calls on files, one after another: the file is whole,
// the old or the new, and what is left beside it goes with the next write.
func TestAKillAtEverySystemCall(t *testing.T) {
	const calls = "%file,%desc"
	folder := t.TempDir()
	path := filepath.Join(folder, "config.json")
	trace := filepath.Join(t.TempDir(), "trace")
	write(t, path, "old")
	if said, err := asChild(t, path, "strace", "-o", trace, "-e", "trace="+calls); err != nil || said != "done" {
		t.Fatalf("strace: %v, %s", err, said)
	}
	var steps []string // the names of the calls, in order
	begun := 0         // how many come before the file is touched
	for line := range strings.Lines(read(t, trace)) {
		if name, _, ok := strings.Cut(line, "("); ok && regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(name) {
			if begun == 0 && strings.Contains(line, path) {
				begun = len(steps)
			}
			steps = append(steps, name)
		}
	}
	if !slices.ContainsFunc(steps, func(name string) bool { return strings.HasPrefix(name, "rename") }) {
		t.Fatalf("the trace shows no write: %q", steps)
	}
	old, fresh, left := 0, 0, 0
	times := map[string]int{} // strace counts each kind of call on its own
	for i, name := range steps {
		times[name]++
		if i < begun || name == "mmap" { // which the Go runtime calls, now and then
			continue
		}
		write(t, path, "old")
		inject := fmt.Sprintf("inject=%s:signal=KILL:when=%d", name, times[name])
		if said, err := asChild(t, path, "strace", "-o", "/dev/null", "-e", "trace="+calls, "-e", inject); err == nil {
			t.Errorf("%s was to kill it, but it said %q", inject, said)
		}
		switch got := read(t, path); got {
		case "old":
			old++
		case newText:
			fresh++
		default:
			t.Fatalf("killed at call %d of %q the file holds %q", i, steps, got)
		}
		for _, name := range names(t, folder) {
			if name != "config.json" {
				left++
				if !strings.HasPrefix(name, ".config.json.") {
					t.Errorf("left behind: %s", name)
				}
			}
		}
	}
	t.Logf("of %d calls, %d were before the file: %d times the old file, %d times the new; %d times something beside it", len(steps), begun, old, fresh, left)
	if old < 10 || fresh < 2 || left < 2 {
		t.Errorf("the kills did not fall into the write: old %d, new %d, left %d", old, fresh, left)
	}
	if said, err := asChild(t, path); err != nil || said != "done" {
		t.Fatal(said, err)
	}
	if got := names(t, folder); len(got) != 1 {
		t.Errorf("after a write there are %q", got)
	}
}

// What another program writes between our reading and our writing is not lost.
func TestAConcurrentEditIsNotLost(t *testing.T) {
	for what, edit := range map[string]func(path string) error{
		"written": func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) },
		"removed": os.Remove,
		"replaced by a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
		"made read-only": func(path string) error { return os.Chmod(path, 0o444) },
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			write(t, path, "old")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), replaceVariable+"="+path, "SAFEFILE_WAIT=1")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			lines.Scan()
			if err := edit(path); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, "go on\n"); err != nil {
				t.Fatal(err)
			}
			lines.Scan()
			if lines.Text() != "changed" {
				t.Errorf("it said %q", lines.Text())
			}
			_ = cmd.Wait() // it failed, as it was to
			for _, name := range names(t, filepath.Dir(path)) {
				if text := read(t, filepath.Join(filepath.Dir(path), name)); text == newText {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

// What is written in the instant after the last look, before the new file takes its place, is not
// lost either. The child waits there, as its call is held up.
func TestAnEditInTheLastInstantIsNotLost(t *testing.T) {
	for try := 1; ; try++ {
		folder := t.TempDir()
		path, trace := filepath.Join(folder, "config.json"), filepath.Join(t.TempDir(), "trace")
		write(t, path, "old")
		ended := make(chan string, 1)
		go func() {
			said, _ := asChild(t, path, "strace", "-o", trace, "-e", "trace=renameat2", "-e", "inject=renameat2:delay_enter=100000:when=1")
			ended <- said
		}()
		var said string
		for looks := 0; said == ""; {
			select {
			case said = <-ended:
			default:
				if slices.ContainsFunc(names(t, folder), func(name string) bool { return name != "config.json" }) { // it is about to
					looks++
				}
				if looks == 50*try { // once; a little later in each try
					looks++
					write(t, filepath.Join(folder, "..", "theirs"), "theirs")
					if err := os.Rename(filepath.Join(folder, "..", "theirs"), path); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if got := read(t, path); said != "changed" || got != "theirs" {
			t.Fatalf("it said %q, the file holds %q", said, got)
		}
		if left := names(t, folder); len(left) != 1 {
			t.Fatalf("left is %q", left)
		}
		if exchanges := strings.Count(read(t, trace), "RENAME_EXCHANGE"); exchanges >= 2 {
			t.Logf("in try %d it was put back", try)
			return
		}
		if try == 100 {
			t.Fatal("the edits never fell into the last instant")
		}
	}
}

func TestAFileThatAppearsMeanwhileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "config.json")
	file, err := safefile.Read(path)
	if err != nil || file.Exists {
		t.Fatal(file, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path, "theirs")
	if _, err := file.Replace([]byte("ours")); !errors.Is(err, safefile.ErrChanged) || read(t, path) != "theirs" {
		t.Errorf("%v", err)
	}
}

func TestModeAndLinksStay(t *testing.T) {
	folder := t.TempDir()
	real := filepath.Join(folder, "dotfiles", "config.json")
	if err := os.Mkdir(filepath.Dir(real), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, real, "old")
	for _, mode := range []os.FileMode{0o600, 0o644, 0o664, 0o640 | os.ModeSetgid} {
		if err := os.Chmod(real, mode); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(folder, fmt.Sprintf("link-%o", mode))
		if err := errors.Join(os.Symlink("dotfiles/config.json", link+"-1"), os.Symlink(link+"-1", link)); err != nil {
			t.Fatal(err)
		}
		file, err := safefile.Read(link)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Replace([]byte("through " + link)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, real); got != "through "+link {
			t.Errorf("the file holds %q", got)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link became %v, %v", info, err)
		}
		if info, err := os.Stat(real); err != nil || info.Mode() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	write(t, at("read-only"), "old")
	write(t, at("file"), "old")
	theirs := "/etc/hostname"
	if os.Geteuid() == 0 {
		theirs = at("theirs")
		write(t, theirs, "old")
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Chmod(at("read-only"), 0o444), os.Symlink(at("nowhere"), at("dangling")), os.Symlink(theirs, at("to-theirs")),
		os.Mkdir(at("folder"), 0o755), syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("loop", at("loop")),
	); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(at("huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(safefile.MaxSize+1), huge.Close()); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"read-only": "read-only", "dangling": "symbolic link", "to-theirs": "another user", "folder": "not a file", "pipe": "not a file",
		"huge": "larger", "loop": "symbolic link", "file/below": "",
	} {
		file, err := safefile.Read(at(name))
		if err == nil {
			_, err = file.Replace([]byte("new"))
		}
		if err == nil || says != "" && (!errors.Is(err, safefile.ErrRefused) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if read(t, at("file")) != "old" || read(t, at("read-only")) != "old" || read(t, theirs) == "new" {
		t.Error("something was written")
	}
}

func TestNoPermission(t *testing.T) {
	folder, err := os.MkdirTemp("", "safefile")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "config.json")
	write(t, path, "old")
	var before []string
	if os.Geteuid() == 0 { // root may do anything, so another user tries
		if err := errors.Join(os.Chown(path, 65534, 65534), os.Chown(folder, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		before = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	if len(before) > 0 {
		before = append(before, openProgram(t)...)
	}
	said, _ := asChild(t, path, before...)
	if said != "no permission" || read(t, path) != "old" {
		t.Errorf("it said %q, the file holds %q", said, read(t, path))
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
}

// openProgram is this program where every user may start it; the rest of the arguments is ignored.
func openProgram(t *testing.T) []string {
	t.Helper()
	folder, err := os.MkdirTemp("", "safefile-program")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "program")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	return []string{program}
}
