// Package connecttest runs real daemons for tests: the built programs, over a home folder of their own.
package connecttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
)

// Patience bounds every wait of a test: long enough for a loaded machine, never reached when all is well.
const Patience = 2 * time.Minute

// Program is the path of a built program, from $FOREVERVM_BIN or else build/bin. Without it the test fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("FOREVERVM_BIN")
	if dir == "" {
		_, file, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(file), "..", "..", "..", "build", "bin")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%s is missing: run `make build` first (%v)", path, err)
	}
	return path
}

// Home makes a home folder. At the end of the test the daemon over it, whoever started it, is ended, and the folder removed.
func Home(t testing.TB) string {
	t.Helper()
	home, err := os.MkdirTemp("", "forevervm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		End(t, home)
		Eventually(t, "the home folder is free", func() bool { return !InUse(t, home) })
		if err := os.RemoveAll(home); err != nil {
			t.Errorf("the home folder cannot be removed: %v", err)
		}
	})
	return home
}

// End ends the daemon over a home folder, if one runs, and waits until it has.
func End(t testing.TB, home string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c, err := connect.Running(ctx, connect.Options{Home: home, Name: "test"})
	if err != nil {
		t.Errorf("the daemon cannot be asked to end: %v", err)
	}
	if c == nil {
		return
	}
	if err := c.Shutdown(ctx); err != nil {
		t.Errorf("the daemon does not end: %v", err)
	}
}

// InUse says whether a process names the folder in its arguments, such as a daemon or a supervisor.
func InUse(t testing.TB, home string) bool {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		// A process that ends meanwhile is none that matters.
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(home)) {
			return true
		}
	}
	return false
}

// Eventually waits for a condition; the test fails when it does not come about.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

// Daemon is a daemon that the test started.
type Daemon struct {
	Home  string
	URL   string
	Token string
	PID   int

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	log   *lockedBuffer
}

// Start starts a daemon over a home folder (see Home) and waits until it is ready. It is ended with the test.
func Start(t testing.TB, home string, args ...string) *Daemon {
	t.Helper()
	d := &Daemon{Home: home, t: t, ended: make(chan struct{}), log: &lockedBuffer{}}
	d.cmd = exec.Command(Program(t, "forevervm"), append([]string{"serve", "--home", home}, args...)...)
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
		URL string
		PID int
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.URL == "" {
		t.Fatalf("the daemon said %q (%v, %v)\n%s", line, err, readErr, d.log)
	}
	token, err := exec.Command(Program(t, "forevervm"), "token", "--home", home).Output()
	if err != nil {
		t.Fatalf("forevervm token: %v", err)
	}
	d.URL, d.PID, d.Token = ready.URL, ready.PID, strings.TrimSpace(string(token))
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
	_ = d.cmd.Process.Kill() // it may have ended by itself
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
