//go:build !windows && real

package connect_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/forevervm/desktop/backend/api"
	"github.com/forevervm/desktop/backend/client"
	"github.com/forevervm/desktop/backend/connect"
	"github.com/forevervm/desktop/backend/connect/connecttest"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/version"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(t *testing.T, where string) connect.Options {
	t.Helper()
	t.Setenv(connect.BaseURLVariable, "")
	return connect.Options{Home: where, Name: "test", Executable: connecttest.Program(t, "forevervm")}
}

func daemon(t *testing.T, opts connect.Options) *client.Client {
	t.Helper()
	c, err := connect.Daemon(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// pid is the process of the daemon that a client speaks to.
func pid(t *testing.T, c *client.Client) int {
	t.Helper()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status.PID
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestADaemonIsStartedAndOutlivesItsGroup(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	if c, err := connect.Running(t.Context(), opts); c != nil || err != nil {
		t.Fatalf("before: %v, %v", c, err)
	}
	c := daemon(t, opts)
	process := pid(t, c)
	group, err := syscall.Getpgid(process)
	if err != nil || group == syscall.Getpgrp() {
		t.Errorf("the daemon is in our process group (%v)", err)
	}
	if second := daemon(t, opts); pid(t, second) != process {
		t.Error("a second front end started a second daemon")
	}
	again, err := connect.Running(t.Context(), opts)
	if err != nil || again == nil {
		t.Fatalf("it runs, but is not found: %v", err)
	}
	defer again.Close()
	files, err := filepath.Glob(filepath.Join(opts.Home, "run", "start-*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestManyStartersEndWithOneDaemon(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	processes := make([]int, 8)
	var starters sync.WaitGroup
	for i := range processes {
		starters.Go(func() {
			c, err := connect.Daemon(t.Context(), opts)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			status, err := c.Status(t.Context())
			if err != nil {
				t.Error(err)
			}
			processes[i] = status.PID
		})
	}
	starters.Wait()
	for _, p := range processes {
		if p == 0 || p != processes[0] {
			t.Fatalf("the starters found the daemons %v", processes)
		}
	}
}

func TestAKilledDaemonIsReplacedUnderAClient(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	c := daemon(t, opts)
	m, err := c.CreateMachine(t.Context(), api.NewMachine{Title: "survivor"})
	if err != nil {
		t.Fatal(err)
	}
	first := pid(t, c)
	kill(t, first)
	again, err := c.Machine(t.Context(), m.Name)
	if err != nil {
		t.Fatal(err)
	}
	if again.Title != "survivor" || pid(t, c) == first {
		t.Errorf("after the kill: %+v of process %d", again, pid(t, c))
	}
}

// An open window starts the next daemon as soon as one has ended: who ends it waits for that one
// alone.
func TestADaemonIsEndedUnderAnOpenWindow(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	window := daemon(t, opts)
	first := pid(t, window)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // less than Stop waits
	defer cancel()
	var asks sync.WaitGroup
	asks.Go(func() {
		for ctx.Err() == nil {
			if status, err := window.Status(ctx); err == nil && status.PID != first {
				return
			}
		}
	})
	if ran, err := connect.Stop(ctx, opts); !ran || err != nil {
		t.Errorf("it ran: %v, %v", ran, err)
	}
	asks.Wait()
	if now := pid(t, window); now == first {
		t.Errorf("process %d goes on", now)
	}
}

func TestAnOlderDaemonIsReplaced(t *testing.T) {
	defer func(was string) { version.Version = was }(version.Version)
	opts := options(t, connecttest.Home(t))
	opts.Notice = func(sentence string) { t.Errorf("nothing is to be told, but: %s", sentence) }

	version.Version = "1.9.0"
	opts.Executable = build(t, "1.9.0")
	old := daemon(t, opts)
	first := pid(t, old)
	m, err := old.CreateMachine(t.Context(), api.NewMachine{})
	if err != nil {
		t.Fatal(err)
	}

	version.Version = "1.10.0"
	opts.Executable = build(t, "1.10.0")
	var said []string
	// One that serves a team was started with more than this program knows.
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		t.Fatal(err)
	}
	file, err := dirs.ReadDaemon()
	if err != nil {
		t.Fatal(err)
	}
	file.Team = true
	if err := dirs.WriteDaemon(file); err != nil {
		t.Fatal(err)
	}
	if _, err := connect.Daemon(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "serve --listen") {
		t.Errorf("a team's daemon is replaced: %v", err)
	}
	file.Team = false
	if err := dirs.WriteDaemon(file); err != nil {
		t.Fatal(err)
	}
	opts.Notice = func(sentence string) { said = append(said, sentence) }
	status, err := daemon(t, opts).Status(t.Context())
	if err != nil || status.PID == first || status.Version != "1.10.0" || status.Total != 1 {
		t.Fatalf("the older daemon was not replaced: %+v, %v", status, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "1.9.0") || !strings.Contains(said[0], "1.10.0") {
		t.Errorf("the person was told %q", said)
	}

	// The older front end goes on with the newer daemon.
	version.Version = "1.9.0"
	if _, err := old.Machine(t.Context(), m.Name); err != nil || pid(t, old) != status.PID {
		t.Errorf("the older front end does not use the newer daemon: %v", err)
	}
}

// build builds the program as a version, beside the parts that a daemon needs.
func build(t *testing.T, as string) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{"supervisor", "runsc", "image"} {
		if err := os.Symlink(connecttest.Program(t, part), filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "forevervm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X github.com/forevervm/desktop/backend/version.Version="+as, "-o", program, "../cmd/forevervm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, said)
	}
	return program
}

func TestADaemonThatCannotStartSaysWhy(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	if err := os.MkdirAll(filepath.Join(opts.Home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(opts.Home, "config", "owner-token"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := connect.Daemon(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the reason is missing: %v", err)
	}
	opts.Executable = filepath.Join(t.TempDir(), "missing")
	if _, err := connect.Daemon(t.Context(), opts); err == nil || !strings.Contains(err.Error(), opts.Executable) {
		t.Errorf("the program is missing: %v", err)
	}
}

func TestAStaleDiscoveryFileMisleadsNobody(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	dirs, err := home.Resolve(opts.Home)
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Make(); err != nil {
		t.Fatal(err)
	}
	if err := dirs.WriteDaemon(home.Daemon{URL: "http://127.0.0.1:9", PID: os.Getpid(), Version: "9.9.9"}); err != nil {
		t.Fatal(err)
	}
	if pid(t, daemon(t, opts)) == os.Getpid() {
		t.Error("the stale file was believed")
	}
}

func TestAServerOfOnesOwnIsUsedDirectly(t *testing.T) {
	d := connecttest.Start(t, connecttest.Home(t))
	t.Setenv(connect.BaseURLVariable, d.URL+"/")
	t.Setenv(connect.TokenVariable, d.Token)
	c := daemon(t, connect.Options{Name: "test"})
	if pid(t, c) != d.PID {
		t.Error("it is another daemon")
	}
	t.Setenv(connect.TokenVariable, "")
	if _, err := connect.Daemon(t.Context(), connect.Options{}); err == nil || !strings.Contains(err.Error(), connect.TokenVariable) {
		t.Errorf("without a token: %v", err)
	}
}

// A front end that is killed with its whole session, as an AI app's helper is, does not take the
// daemon along.
func TestTheDaemonOutlivesItsStarter(t *testing.T) {
	opts := options(t, connecttest.Home(t))
	ctx, cancel := context.WithTimeout(t.Context(), connecttest.Patience)
	defer cancel()
	starter := exec.CommandContext(ctx, opts.Executable, "machine", "list", "--watch", "--home", opts.Home)
	starter.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	var c *client.Client
	connecttest.Eventually(t, "the daemon answers", func() bool {
		var err error
		c, err = connect.Running(ctx, opts)
		return err == nil && c != nil
	})
	defer c.Close()
	if err := syscall.Kill(-starter.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // it was killed
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("the daemon went with its starter: %v", err)
	}
}
