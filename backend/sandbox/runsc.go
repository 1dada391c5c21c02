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

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

const containerID = "machine"

// panicLogPath is where a sandbox that fails says why.
const panicLogPath = runPath + "/panic.log"

// runscFlags are the same for every command. Beyond what is said here, runsc's defaults hold, which
// are the tight ones: no host sockets or FIFOs, no device pass-through, seccomp filters on the
// sandbox and the gofer.
var runscFlags = []string{
	"--root=" + runPath + "/state",
	"--log=" + runPath + "/runsc.log",
	"--panic-log=" + panicLogPath,
	// Limits are made from outside, where the system lets us: inside, there is no cgroup file
	// system to see.
	"--ignore-cgroups",
	"--network=none",
	"--platform=systrap",
	// What the machine writes lands in one file there, not in memory. The spec says it too, since
	// the root comes from an image.
	"--overlay2=root:dir=" + scratchPath + ",size=" + diskSize,
	// Without directfs the sandbox would run as a second user, nobody, and an ordinary user may map
	// only one into a name space. What directfs opens to it is the reserved folders: the root comes
	// from the image.
	"--directfs=true",
	"--host-settings=ignore",
	// Of in-flight control calls at the end none is worth waiting for.
	"--control-rpc-stop-timeout=1s",
}

// runsc drives the program of that name around one sandbox.
type runsc struct {
	pid      int    // of the sandbox's process
	features string // of the processor that the sandbox goes by; empty where that is not known
}

// stdio are the sandbox's ends of its pipes; those of more become the first program's descriptors
// from 3 on.
type stdio struct {
	in, out, err *os.File
	more         []*os.File
}

// create makes a sandbox with nothing in it, for restore.
func (r *runsc) create(ctx context.Context, pipes stdio) error {
	return r.bring(ctx, baseSpec(), pipes, "create")
}

// start starts a sandbox afresh. It does not end with ctx.
func (r *runsc) start(ctx context.Context, pipes stdio) error {
	spec := baseSpec()
	features, restricted := r.cpuFeatures(ctx)
	if r.features = features; restricted {
		spec.Annotations[cpuAnnotation] = features
	}
	return r.bring(ctx, spec, pipes, "run", "--detach")
}

// restore brings the checkpoint in the folder from into the sandbox that was created before, or
// into a new one. It does not end with ctx.
func (r *runsc) restore(ctx context.Context, pipes stdio, from string) error {
	if r.pid == 0 {
		if err := r.create(ctx, pipes); err != nil {
			return err
		}
	} else {
		var status unix.WaitStatus
		if gone, err := unix.Wait4(r.pid, &status, unix.WNOHANG, nil); gone != 0 || err != nil {
			return errSpareGone
		}
	}
	return called("restore", restoreInto(ctx, from))
}

// errSpareGone says that a sandbox ended before it had something to do.
var errSpareGone = &told{protocol.KindUnavailable, "The sandbox that was kept ready for a machine has ended."}

func (r *runsc) bring(ctx context.Context, spec *specs.Spec, pipes stdio, command ...string) error {
	b, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bundlePath, "config.json"), b, 0o600); err != nil {
		return err
	}
	pidFile := filepath.Join(runPath, "pid")
	cmd := r.command(ctx, append(command, "--bundle="+bundlePath, "--pid-file="+pidFile, containerID)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.in, pipes.out, pipes.err
	// By this our build of runsc knows that it is given more (build/runsc, patch "passed
	// descriptors").
	cmd.ExtraFiles, cmd.Env = pipes.more, []string{"RUNSC_PASSED=" + strconv.Itoa(len(pipes.more))}
	if err := r.finish(cmd, cmd.Run()); err != nil {
		return err
	}
	if b, err = os.ReadFile(pidFile); err != nil {
		return err
	}
	r.pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
	return err
}

// checkpoint saves the sandbox into dir. The sandbox always goes on: told to stop, it would end
// even if the saving failed, as on a full disk.
func (r *runsc) checkpoint(ctx context.Context, dir string) error {
	return called("checkpoint", saveInto(ctx, dir))
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

// runscError is a failed command of runsc, with what it logged, or a failed call.
type runscError struct {
	command string
	err     error
	log     string
}

// called says which call failed, if it did.
func called(command string, err error) error {
	if err == nil {
		return nil
	}
	return &runscError{command: command, err: err}
}

// Error says what failed, in as many of runsc's words as a person can bear.
func (e *runscError) Error() string {
	text := fmt.Sprintf("runsc %s: %v", e.command, e.err)
	said := e.log
	if first := struct{ Msg string }{}; json.NewDecoder(strings.NewReader(said)).Decode(&first) == nil && first.Msg != "" {
		said = first.Msg
	}
	if said != "" {
		text += ": " + said
	}
	text, _, _ = strings.Cut(text, "\n")
	return sentence(text)
}

func (e *runscError) Unwrap() error { return e.err }

// diskFull says whether the command failed for want of room.
func (e *runscError) diskFull() bool {
	said := e.err.Error() + e.log
	return strings.Contains(said, "no space left on device") || strings.Contains(said, "disk quota exceeded")
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
