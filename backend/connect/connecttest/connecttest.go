// Package connecttest runs real daemons for tests: the built programs, over a home folder of their
// own.
package connecttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/home/hometest"
)

// Patience bounds every wait of a test: long enough for a loaded machine, never reached when all is
// well.
const Patience = 2 * time.Minute

// Program is the path of a built program, from $FOREVERVM_BIN or else build/bin. Without it the
// test fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := program(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func program(name string) (string, error) {
	bin, err := hometest.Programs(name)
	return filepath.Join(bin, name), err
}

// Main runs a package's tests with a home of their own in the environment, where connect.Daemon
// finds the one daemon that they share, or starts it. Afterwards the daemon is ended, and nothing
// may be left of it. It returns the exit status.
func Main(m *testing.M) int {
	status, err := withHome(m.Run)
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

func withHome(run func() int) (status int, err error) {
	executable, err := program("forevervm")
	if err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "forevervm-test-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, remove(folder)) }()
	if err := hometest.Lend(filepath.Join(folder, "data")); err != nil {
		return 1, err
	}
	for name, value := range map[string]string{
		home.Variable:           folder,
		connect.BaseURLVariable: "",
		"PATH":                  filepath.Dir(executable) + string(filepath.ListSeparator) + os.Getenv("PATH"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	return run(), nil
}

// Home makes a home folder. At the end of the test the daemon over it, no matter who started it, is
// ended, and the folder removed.
func Home(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "forevervm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(folder); err != nil {
			t.Error(err)
		}
	})
	if err := hometest.Lend(filepath.Join(folder, "data")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// remove ends the daemon over a home folder, and removes it.
func remove(folder string) error {
	err := End(folder)
	if err == nil {
		err = hometest.Take(filepath.Join(folder, "data"))
	}
	return errors.Join(err, os.RemoveAll(folder))
}

// End ends the daemon over a home folder, if one runs, and waits until no process is left of it.
// One that is only just starting cannot be asked to end before it says where it is.
func End(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := shutdown(ctx, folder); err != nil {
		return err
	}
	return until(func() error {
		err := inUse(folder)
		if err == nil {
			return nil
		}
		return errors.Join(err, shutdown(ctx, folder))
	})
}

// shutdown asks the daemon over a home folder to end, if one runs.
func shutdown(ctx context.Context, folder string) error {
	c, err := connect.Running(ctx, connect.Options{Home: folder, Name: "test"})
	if err != nil || c == nil {
		return err
	}
	defer c.Close()
	if err := c.Shutdown(ctx); err != nil {
		return fmt.Errorf("the daemon does not end: %w", err)
	}
	return nil
}

// inUse fails while a process names the folder in its arguments, such as a daemon or a supervisor.
func inUse(folder string) error {
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range processes {
		// A process that ends meanwhile is none that matters.
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(folder)) {
			return fmt.Errorf("still there: %s", bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return nil
}

// until waits for a condition; when time is up, it returns what is still missing.
func until(ok func() error) error {
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return err
		case <-tick.C:
		}
	}
}

// Eventually waits for a condition; the test fails when it does not come about.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if err := until(func() error {
		if ok() {
			return nil
		}
		return errors.New(what)
	}); err != nil {
		t.Fatalf("waited in vain: %v", err)
	}
}

// Daemon is a daemon that the test started.
type Daemon struct {
	Home  string
	URL   string
	Team  string // the address for people of a team; "" for none
	Token string
	PID   int

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	log   *lockedBuffer
}

// Start starts a daemon over a home folder (see Home) and waits until it is ready. It is ended with
// the test.
func Start(t testing.TB, folder string, args ...string) *Daemon {
	t.Helper()
	d := &Daemon{Home: folder, t: t, ended: make(chan struct{}), log: &lockedBuffer{}}
	d.cmd = exec.Command(Program(t, "forevervm"), append([]string{"serve", "--home", folder}, args...)...)
	d.cmd.Stderr = d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, readErr := lines.ReadString('\n')
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // how it ended is the test's to judge, by what it left
	}()
	t.Cleanup(d.Stop)
	var ready struct {
		URL  string
		Team string
		PID  int
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.URL == "" {
		t.Fatalf("the daemon said %q (%v, %v)\n%s", line, err, readErr, d.log)
	}
	token, err := exec.Command(Program(t, "forevervm"), "token", "--owner", "--home", folder).Output()
	if err != nil {
		t.Fatalf("forevervm token: %v", err)
	}
	d.URL, d.Team, d.PID, d.Token = ready.URL, ready.Team, ready.PID, strings.TrimSpace(string(token))
	return d
}

// Stop ends the daemon gently and waits until it has; one that has ended already stays so.
func (d *Daemon) Stop() {
	d.t.Helper()
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		<-d.ended
		return
	}
	select {
	case <-d.ended:
	case <-time.After(Patience):
		d.t.Errorf("the daemon does not end\n%s", d.log)
		d.Kill()
	}
}

// Kill ends the daemon as kill -9 does, and waits until it has.
func (d *Daemon) Kill() {
	d.t.Helper()
	_ = d.cmd.Process.Kill() // it may have ended on its own
	<-d.ended
}

// Client returns a client of this very daemon, which looks for no other.
func (d *Daemon) Client(name string) *client.Client {
	return client.New(d.URL, d.Token, client.Options{Name: name, Version: "1.0"})
}

// lockedBuffer is a buffer that a process writes to and a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
