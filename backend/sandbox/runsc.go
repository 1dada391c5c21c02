//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const containerID = "machine"

// runscFlags are the same for every command. Beyond what is said here, runsc's defaults hold, which are the tight ones: no
// host sockets or FIFOs, no device pass-through, seccomp filters on the sandbox and the gofer.
var runscFlags = []string{
	"--root=" + runPath + "/state",
	"--log=" + runPath + "/runsc.log",
	// Limits are made from outside, where the system lets us: inside, there is no cgroup file system to see.
	"--ignore-cgroups",
	"--network=none",
	"--platform=systrap",
	// What the machine writes lands in one file there, not in memory. The spec says it too, since the root comes from an image.
	"--overlay2=root:dir=" + scratchPath + ",size=" + diskSize,
	// Without directfs the sandbox would run as a second user, nobody, and an ordinary user may map only one into a name space. What
	// directfs opens to it is the reserved folders: the root comes from the image.
	"--directfs=true",
	"--host-settings=ignore",
	// Of in-flight control calls at the end none is worth waiting for.
	"--control-rpc-stop-timeout=1s",
}

// runsc drives the program of that name around one sandbox.
type runsc struct {
	pid int // of the sandbox's process
}

// launch starts the sandbox afresh, or restores it from checkpointPath, with the runner's pipes. The sandbox does not end with ctx.
func (r *runsc) launch(ctx context.Context, restore bool, stdin, stdout, stderr *os.File) error {
	base := baseSpec()
	if !restore {
		if features := r.cpuFeatures(ctx); features != "" {
			base.Annotations[cpuAnnotation] = features
		}
	}
	spec, err := json.Marshal(base)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bundlePath, "config.json"), spec, 0o600); err != nil {
		return err
	}
	pidFile := filepath.Join(runPath, "pid")
	args := []string{"run"}
	if restore {
		args = []string{"restore", "--image-path=" + checkpointPath}
	}
	args = append(args, "--detach", "--bundle="+bundlePath, "--pid-file="+pidFile, containerID)
	cmd := r.command(ctx, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := r.finish(cmd, cmd.Run()); err != nil {
		return err
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		return err
	}
	r.pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return err
}

// checkpoint saves the sandbox into dir. The sandbox always goes on: told to stop it, runsc would end it even when the
// saving fails, as on a full disk.
func (r *runsc) checkpoint(ctx context.Context, dir string) error {
	cmd := r.command(ctx, "checkpoint", "--image-path="+dir, "--compression=none", "--exclude-committed-zero-pages",
		"--leave-running", containerID)
	return r.finish(cmd, cmd.Run())
}

// wait waits for the sandbox's end, however it comes.
func (r *runsc) wait() unix.WaitStatus {
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(r.pid, &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return status
		}
	}
}

// kill ends the sandbox at once.
func (r *runsc) kill() {
	if r.pid > 0 {
		_ = unix.Kill(r.pid, unix.SIGKILL)
	}
}

func (r *runsc) command(ctx context.Context, args ...string) *exec.Cmd {
	_ = os.Truncate(filepath.Join(runPath, "runsc.log"), 0)
	cmd := exec.CommandContext(ctx, runscPath, append(append([]string{}, runscFlags...), args...)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// runscError is a failed command of runsc, with what it logged.
type runscError struct {
	command string
	err     error
	log     string
}

// Error says what failed, in as many of runsc's words as a person can bear.
func (e *runscError) Error() string {
	said := e.log
	if first := struct{ Msg string }{}; json.NewDecoder(strings.NewReader(said)).Decode(&first) == nil && first.Msg != "" {
		said = first.Msg
	}
	said, _, _ = strings.Cut(said, "\n")
	return fmt.Sprintf("runsc %s: %v: %s", e.command, e.err, sentence(said))
}

func (e *runscError) Unwrap() error { return e.err }

// diskFull says whether the command failed for want of room.
func (e *runscError) diskFull() bool {
	return strings.Contains(e.log, "no space left on device") || strings.Contains(e.log, "disk quota exceeded")
}

func (r *runsc) finish(cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	failed := &runscError{command: cmd.Args[1+len(runscFlags)], err: err}
	if f, err := os.Open(filepath.Join(runPath, "runsc.log")); err == nil {
		b, _ := io.ReadAll(io.LimitReader(f, 64<<10))
		failed.log = strings.TrimSpace(string(b))
		f.Close()
	}
	return failed
}
