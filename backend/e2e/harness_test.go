//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/home/hometest"
)

// patience bounds every wait: long enough for a loaded CI machine, never reached when all is well.
const patience = 3 * time.Minute

// began is where the tests start: in this folder.
var began, _ = os.Getwd()

// repo is the checkout's root.
func repo(t testing.TB) string {
	t.Helper()
	return filepath.Join(began, "..", "..")
}

// program is the path of a built program.
func program(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(hometest.Bin(t, name), name)
}

// cache is a folder that outlives the test run: virtual environments, cargo's target, npm's
// modules.
func cache(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(repo(t), "build", "cache", "e2e", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// daemon is a real `forevervm serve` over a home of its own.
type daemon struct {
	t       testing.TB
	home    string
	args    []string // of serve
	url     string
	team    string // the address for people of a team; "" for none
	token   string
	cmd     *exec.Cmd
	stopped chan struct{}
	log     *logBuffer
}

// logBuffer keeps what a daemon says; it may be read while the daemon goes on.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newHome makes a home folder whose removal is checked: after the test no process may hold it.
func newHome(t testing.TB) string {
	t.Helper()
	home, err := os.MkdirTemp("", "forevervm-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	if err := hometest.Lend(filepath.Join(home, "data")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := until(time.Minute, func() error { return nobodyIn(home) }); err != nil {
			t.Errorf("left behind: %v", err)
		} else if err := hometest.Take(filepath.Join(home, "data")); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Errorf("the home folder could not be removed (a mount left in it?): %v", err)
		}
	})
	return home
}

// serve starts the daemon and waits for its ready line.
func serve(t testing.TB, home string) *daemon {
	t.Helper()
	d := &daemon{t: t, home: home, log: new(logBuffer)}
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	d.cmd = exec.Command(program(d.t, "forevervm"), append([]string{"serve", "--home", d.home}, d.args...)...)
	d.cmd.Stderr = d.log
	// A new session, as when a front end starts it: a terminal's Ctrl-C must not reach it.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.stopped = make(chan struct{})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = d.cmd.Wait()
		d.t.Fatalf("the daemon said nothing: %v\n%s", err, d.log)
	}
	go func(cmd *exec.Cmd, stopped chan struct{}) {
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		close(stopped)
	}(d.cmd, d.stopped)
	var ready struct {
		URL  string `json:"url"`
		Team string `json:"team"`
		PID  int    `json:"pid"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.URL == "" {
		d.t.Fatalf("not a ready line: %q (%v)", line, err)
	}
	d.url, d.team = ready.URL, ready.Team
	token, err := exec.Command(program(d.t, "forevervm"), "token", "--owner", "--home", d.home).Output()
	if err != nil {
		d.t.Fatalf("forevervm token: %v", err)
	}
	d.token = strings.TrimSpace(string(token))
}

// kill9 ends the daemon as a power user or the kernel would.
func (d *daemon) kill9() {
	d.t.Helper()
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.t.Fatal(err)
	}
	<-d.stopped
}

// stop ends the daemon gently.
func (d *daemon) stop() {
	select {
	case <-d.stopped:
		return
	default:
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.stopped:
	case <-time.After(patience):
		d.t.Errorf("the daemon did not end on SIGTERM; its log:\n%s", d.log)
		_ = d.cmd.Process.Kill()
		<-d.stopped
	}
}

// env is the environment that SDK programs get, with the token that people give them.
func (d *daemon) env(more ...string) []string {
	token, err := d.cli("token")
	if err != nil {
		d.t.Fatalf("forevervm token: %v", err)
	}
	return append(append(os.Environ(),
		"FOREVERVM_API_BASE="+d.url, "FOREVERVM_BASE_URL="+d.url, "FOREVERVM_TOKEN="+strings.TrimSpace(token)), more...)
}

// cli runs the command line program on the daemon's home.
func (d *daemon) cli(args ...string) (string, error) {
	cmd := exec.Command(program(d.t, "forevervm"), append(args, "--home", d.home)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("forevervm %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), err
}

// call makes one JSON request and decodes the answer into out (nil for none).
func (d *daemon) call(method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 400 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

func (d *daemon) mustCall(method, path string, in, out any) {
	d.t.Helper()
	if err := d.call(method, path, in, out); err != nil {
		d.t.Fatalf("%v\ndaemon's log:\n%s", err, d.log)
	}
}

// until polls a condition; it returns the last error when time is up.
func until(limit time.Duration, ok func() error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}

// nobodyIn fails while a process mentions the folder in its arguments or works in it, or while
// something is mounted there.
func nobodyIn(dir string) error {
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, p := range procs {
		cmdline, err := os.ReadFile(p + "/cmdline")
		if errors.Is(err, fs.ErrNotExist) || err != nil {
			continue
		}
		cwd, _ := os.Readlink(p + "/cwd")
		if bytes.Contains(cmdline, []byte(dir)) || strings.HasPrefix(cwd, dir) {
			return fmt.Errorf("process %s: %q (in %s)", filepath.Base(p), bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}), cwd)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), dir) {
		return fmt.Errorf("something is still mounted in %s", dir)
	}
	return nil
}

// run executes a helper program of a test and returns its standard output; its errors are shown
// whole.
func run(t testing.TB, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// adopt speaks to the daemon that some front end has started over the home, and ends it after the
// test.
func adopt(t testing.TB, home string) *daemon {
	t.Helper()
	d := &daemon{t: t, home: home, log: new(logBuffer), stopped: make(chan struct{})}
	b, err := os.ReadFile(filepath.Join(home, "run", "daemon.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		URL string
		PID int
	}
	if err := json.Unmarshal(b, &found); err != nil {
		t.Fatal(err)
	}
	d.url = found.URL
	token, err := d.cli("token", "--owner")
	if err != nil {
		t.Fatal(err)
	}
	d.token = strings.TrimSpace(token)
	t.Cleanup(func() {
		if err := d.call("POST", "/api/shutdown", nil, nil); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := until(patience, func() error {
			if syscall.Kill(found.PID, 0) == nil {
				return fmt.Errorf("the daemon %d still runs", found.PID)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	return d
}

// endDaemon ends the daemon that a front end has started, which says in this folder where it is; it
// does nothing where none runs.
func endDaemon(t *testing.T, folder string, token func() string) {
	t.Helper()
	file := filepath.Join(folder, "daemon.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	d := &daemon{t: t}
	if err := errors.Join(err, json.Unmarshal(text, &struct{ URL *string }{&d.url})); err != nil {
		t.Fatal(err)
	}
	d.token = strings.TrimSpace(token())
	if err := d.call("POST", "/api/shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	if err := until(time.Minute, func() error {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.New("the daemon still runs")
	}); err != nil {
		t.Error(err)
	}
}
