package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/forevervm/desktop/backend/home"
)

// start starts a daemon that outlives this program, and returns it once it answers. When another
// program starts one at the same moment, the daemons' lock lets one live, and that one is returned.
func (f *finder) start(ctx context.Context) (*home.Daemon, error) {
	executable, err := f.executable()
	if err != nil {
		return nil, err
	}
	if err := f.dirs.Make(); err != nil {
		return nil, err
	}
	if err := f.holdBack(ctx); err != nil {
		return nil, err
	}
	complaint, err := os.CreateTemp(f.dirs.Run, "start-*.err")
	if err != nil {
		return nil, err
	}
	defer os.Remove(complaint.Name())
	defer complaint.Close()
	args := []string{"serve"}
	if f.dirs.Root != "" {
		args = append(args, "--home", f.dirs.Root)
	}
	cmd := exec.Command(executable, args...)
	cmd.Dir = filepath.VolumeName(executable) + string(filepath.Separator) // hold no folder that someone may want to remove
	cmd.Stderr = complaint
	ours, err := startDetached(cmd)
	if err != nil {
		return nil, fmt.Errorf("the ForeverVM daemon cannot be started (%s): %w", executable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	var found *home.Daemon
	err = until(ctx, func() (bool, error) {
		var err error
		found, err = f.running(ctx)
		if found != nil || err != nil {
			return true, err
		}
		select {
		case <-ours.ended:
			// Another daemon may hold the lock and answer any moment; without one nothing will
			// come.
			if !f.lockHeld() {
				return false, fmt.Errorf("the ForeverVM daemon ended right after its start: %s", f.why(complaint.Name()))
			}
		default:
		}
		return false, nil
	}, func() error {
		return fmt.Errorf("the ForeverVM daemon was started but does not answer after %s; its log is %s (%s)", startWithin, f.dirs.LogFile(), f.why(complaint.Name()))
	})
	if err != nil || found.PID != ours.process.Pid {
		// Another's daemon answers, or none: ours would wait for the lock, and take over when
		// nobody expects it.
		ours.end()
	}
	return found, err
}

// starts are those of one finder, which holds back when the daemons that it starts do not live.
type starts struct {
	last time.Time
	row  int // starts, each of them soon after the one before
}

// wait notes a start at a time and returns how long it must be held back.
func (s *starts) wait(now time.Time) time.Duration {
	if s.last.IsZero() || now.Sub(s.last) >= soon {
		s.row = 0
	} else {
		s.row++
	}
	wait := time.Duration(0)
	if s.row > freely {
		wait = min(firstWait<<min(s.row-freely-1, 10), lastWait)
	}
	s.last = now.Add(wait)
	return wait
}

// holdBack waits before a daemon is started whose predecessors ended soon after their start, and
// tells.
func (f *finder) holdBack(ctx context.Context) error {
	wait := f.starts.wait(time.Now())
	if wait == 0 {
		return nil
	}
	f.notice(fmt.Sprintf("The ForeverVM daemon keeps ending soon after its start. It is started again in %s. Why it ends may be in its log, %s.", wait, f.dirs.LogFile()))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// why is what a daemon that could not start has said.
func (f *finder) why(path string) string {
	const most = 4 << 10
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	said := strings.TrimSpace(string(data[max(0, len(data)-most):]))
	if said == "" {
		return "it said nothing; its log is " + f.dirs.LogFile()
	}
	return said
}

// executable is the program to start as the daemon.
func (f *finder) executable() (string, error) {
	if f.opts.Executable != "" {
		return f.opts.Executable, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program lies cannot be told: %w", err)
	}
	name := "forevervm"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if filepath.Base(self) == name {
		return self, nil
	}
	beside := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	return "", errors.New("the ForeverVM daemon is not running, and the program that would start it (" + beside + ") is missing: install ForeverVM again")
}

// child is a program that was started. As long as this one lives it takes note of the other's end,
// which would else stay as a zombie.
type child struct {
	process *os.Process
	ended   chan struct{} // closed when it has
}

func launch(cmd *exec.Cmd) (*child, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{process: cmd.Process, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(c.ended)
	}()
	return c, nil
}

// end ends the program and waits until it has.
func (c *child) end() {
	_ = c.process.Kill() // it may have ended on its own
	<-c.ended
}

// lockHeld says whether a daemon of this home runs or is starting.
func (f *finder) lockHeld() bool {
	lock := flock.New(f.dirs.LockFile(), flock.SetPermissions(0o600))
	free, err := lock.TryRLock()
	if free {
		err = lock.Unlock()
	}
	return !free && err == nil
}
