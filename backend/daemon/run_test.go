package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/forevervm/desktop/backend/daemon"
	"github.com/forevervm/desktop/backend/home"
	"github.com/forevervm/desktop/backend/home/hometest"
)

// patience bounds every wait: long enough for a loaded computer, never reached when all is well.
const patience = 2 * time.Minute

// running is a daemon in this process, over files of its own.
type running struct {
	url, token string
	dirs       home.Dirs
	stop       func() error // ends it and returns what Run returned; may be called again
}

// programs is the folder of the built programs, which these tests are about as much as about the
// daemon.
func programs() (string, error) { return hometest.Programs("supervisor", "runsc", "image/base.erofs") }

// run starts a daemon over a folder and waits until it answers.
func run(folder string) (*running, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Config{Home: folder, Bin: bin, Ready: func(url, _ string) { ready <- url }})
	}()
	stop := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("the daemon does not end")
		}
	})
	select {
	case url := <-ready:
		dirs, err := home.Resolve(folder)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		token, err := dirs.ReadOwnerToken()
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		return &running{url: url, token: token, dirs: dirs, stop: stop}, nil
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("the daemon ended at once: %w", err)
	case <-time.After(patience):
		return nil, errors.Join(errors.New("the daemon does not answer"), stop())
	}
}

func start(t *testing.T, folder string) *running {
	t.Helper()
	d, err := run(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// shared is one daemon for the tests that do not end it.
var shared struct {
	once   sync.Once
	folder string
	daemon *running
	err    error
}

func sharedDaemon(t *testing.T) *running {
	t.Helper()
	shared.once.Do(func() {
		if shared.folder, shared.err = os.MkdirTemp("", "forevervm-daemon-"); shared.err == nil {
			shared.daemon, shared.err = run(shared.folder)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.daemon
}

func TestMain(m *testing.M) {
	status := 1
	// The AI apps of anyone who runs the tests are no concern of theirs.
	user, err := os.MkdirTemp("", "forevervm-user-")
	if err == nil {
		err = errors.Join(os.Setenv("HOME", user), os.Unsetenv("XDG_CONFIG_HOME"), os.Unsetenv("CODEX_HOME"), os.Unsetenv("CLAUDE_CONFIG_DIR"))
	}
	if err == nil {
		status = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	if shared.daemon != nil {
		if err := shared.daemon.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the shared daemon ended badly:", err)
			status = 1
		}
	}
	if shared.folder != "" {
		if err := os.RemoveAll(shared.folder); err != nil {
			fmt.Fprintln(os.Stderr, "left behind:", err)
			status = 1
		}
	}
	if user != "" {
		_ = os.RemoveAll(user)
	}
	os.Exit(status)
}
