//go:build linux

package native

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
	"github.com/forevervm/desktop/backend/sandbox"
	"github.com/forevervm/desktop/backend/sandbox/cgroup"
	"github.com/forevervm/desktop/backend/sandbox/protocol"
)

// supervisor is a supervisor that was started.
type supervisor struct {
	cmd   *exec.Cmd
	pipes io.ReadWriteCloser // its stdout and stdin
	ended chan struct{}
	err   error // how it ended; valid once ended is closed
}

// spawn starts a supervisor, which logs into the folder that it begins in. A spare reads its claim
// from claim.
func (e *Engine) spawn(cfg sandbox.Config, claim ...*os.File) (*supervisor, error) {
	if e.cfg.MemoryMax > 0 {
		cgroup.LimitAll(e.cfg.MemoryMax)
	}
	stderr, err := os.OpenFile(filepath.Join(cfg.Folder(), logName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, local.Describe(err)
	}
	defer stderr.Close()
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, local.Describe(err)
	}
	defer theirIn.Close()
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, local.Describe(err)
	}
	defer theirOut.Close()
	cmd := exec.Command(e.cfg.Supervisor, append([]string{"run"}, cfg.Args()...)...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, stderr
	cmd.ExtraFiles = claim
	// It must outlive us: it saves the machine when its stdin, which is our end of the link, is
	// closed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p := &supervisor{cmd: cmd, pipes: protocol.Stdio(stdout, stdin), ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		p.pipes.Close()
		return nil, &machine.Error{Kind: machine.ErrUnavailable, Message: "The supervisor program cannot be started. Install ForeverVM again.", Cause: err}
	}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *supervisor) kill() { _ = p.cmd.Process.Kill() }
