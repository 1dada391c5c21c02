package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/client"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// findPatience bounds how long one place is asked whether there is a Docker.
const (
	findPatience = 5 * time.Second
	sshPatience  = 20 * time.Second
)

// problem is why there is no Docker to be used. Of several, the one with the highest rank is told.
type problem struct {
	machine.Problem
	rank  int
	cause error
	start *desktop // starting it mends that; nil for nothing
}

const (
	rankAbsent = iota
	rankStopped
	rankUnfit
)

// explain makes sentences of why a place has no Docker that can be used.
func explain(ctx context.Context, c candidate, err error) *problem {
	said := func(rank int, what, do string) *problem {
		return &problem{machine.Problem{What: what, Do: do}, rank, err, nil}
	}
	absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOENT)
	switch {
	case errors.Is(err, errTooOld):
		return said(rankUnfit, c.what+" is too old ("+strings.TrimPrefix(err.Error(), errTooOld.Error()+": ")+").", "Update it to "+oldestRelease+" or newer.")
	case errors.Is(err, errWindowsContainers):
		return said(rankUnfit, c.what+" is set to Windows containers.", "Choose \"Switch to Linux containers\" in Docker's menu.")
	case errors.Is(err, errSSH):
		return said(rankUnfit, c.what+" cannot be reached over ssh.", "Make sure that `docker --host "+c.host+" info` works, and that ssh asks nothing then (a key in ssh-agent, a host that is known). Then try again.")
	case errors.Is(err, fs.ErrPermission):
		do := "Give yourself the right to use it, then start ForeverVM again."
		if runtime.GOOS == "linux" {
			do = "Run `sudo usermod -aG docker $USER`, log out and in again. (Who may use Docker can become root on this computer.)"
		}
		return said(rankUnfit, "You may not use "+c.what+" on this computer.", do)
	case absent && !c.chosen:
		return notInstalled(ctx)
	case absent || errors.Is(err, syscall.ECONNREFUSED):
		// Docker Desktop makes its own place the chosen one, and may leave its socket there.
		if found, ok := installedDesktop(ctx, ownerOf(c.host)); ok {
			return stopped(found, rankStopped, err)
		}
		if absent {
			return said(rankStopped, c.what+" does not run.", "Start it, and try again.")
		}
		return said(rankStopped, c.what+" does not answer.", "Start it, and try again.")
	case errors.Is(err, context.DeadlineExceeded) || client.IsErrConnectionFailed(err):
		return said(rankStopped, c.what+" does not answer.", "Start it, and try again.")
	default:
		return said(rankStopped, fmt.Sprintf("%s cannot be used: %v.", c.what, err), "Make sure that `docker info` works, and try again.")
	}
}

// notInstalled is what is wrong where nothing listens anywhere.
func notInstalled(ctx context.Context) *problem {
	if all := installedDesktops(ctx); len(all) > 0 {
		return stopped(all[0], rankAbsent, nil)
	}
	if _, err := exec.LookPath("docker"); err == nil {
		return &problem{machine.Problem{What: "Docker is installed, but does not run.", Do: startDocker()}, rankAbsent, nil, nil}
	}
	return &problem{machine.Problem{What: "Docker is not installed.", Do: installDocker()}, rankAbsent, nil, nil}
}

// stopped is what is wrong where there is a Docker that can be started.
func stopped(d desktop, rank int, err error) *problem {
	return &problem{machine.Problem{
		What: d.name + " is installed, but does not run.", Do: "Have it started by `forevervm engines start docker`, or start it yourself.",
	}, rank, err, &d}
}

func startDocker() string {
	if runtime.GOOS == "linux" {
		return "Start it with `sudo systemctl start docker`, and try again."
	}
	return "Start it, and try again."
}

// installDocker leads to one, step by step, with what it costs and needs.
func installDocker() string {
	const then = " ForeverVM finds it automatically within a minute once it runs."
	switch runtime.GOOS {
	case "linux":
		return "1. Install Docker Engine, which is free, as https://docs.docker.com/engine/install says. " +
			"2. Run `sudo usermod -aG docker $USER`, log out and in again." + then
	case "darwin":
		return "1. Install Docker Desktop (https://docs.docker.com/desktop/; free for people and small companies, paid for others) or OrbStack " +
			"(https://orbstack.dev; free for personal use). Either wants 4 GB of memory and some 5 GB of disk. 2. Open it once, and agree to its terms." + then
	default:
		return "1. Install Docker Desktop (https://docs.docker.com/desktop/; free for people and small companies, paid for others). It wants WSL 2, which it " +
			"installs, 4 GB of memory and some 5 GB of disk. 2. Start the computer again where it asks for that, open Docker Desktop once, and agree to its terms." + then
	}
}

// Check says what keeps this engine from working.
func (e *Engine) Check(ctx context.Context) []machine.Problem {
	var problems []machine.Problem
	if _, err := e.store.Parts("base"); err != nil {
		problems = append(problems, machine.Problem{What: "A part of the sandbox is missing.", Do: err.Error()})
	}
	if _, err := e.store.Digest(e.cfg.Supervisor); err != nil {
		problems = append(problems, machine.Problem{What: "The program supervisor is missing.", Do: "Install ForeverVM again."})
	}
	ctx, cancel := context.WithTimeout(ctx, sshPatience)
	defer cancel()
	if d, ok := e.reached(); ok {
		quick, cancel := context.WithTimeout(ctx, findPatience)
		defer cancel()
		if _, err := d.api.Ping(quick); err == nil {
			return append(problems, e.checkRoom(d)...)
		}
		e.lost(d)
	}
	d, problem := e.probe(ctx)
	if problem != nil {
		return append(problems, problem.Problem)
	}
	return append(problems, e.checkRoom(d)...)
}

// minFree is how much room Docker's disk must have for machines to be of use, in bytes.
const minFree = 2 << 30

// fullFor is how long Docker's disk is called full after it was, where nothing has been written to
// it since.
const fullFor = 10 * time.Minute

// checkRoom says when Docker's disk is full: as the disk itself tells where it is this computer's,
// else as Docker said last.
func (e *Engine) checkRoom(d *daemon) []machine.Problem {
	const do = "Free some room there: `docker system df` shows what takes it, `docker system prune` removes what is not in use."
	free := int64(-1)
	if d.root != "" {
		free = freeIn(d.root)
	}
	switch full := time.Unix(0, e.full.Load()); {
	case free >= 0 && free < minFree:
		return []machine.Problem{{What: fmt.Sprintf("Only %d MiB are free on Docker's disk (%s).", free>>20, d.root), Do: do}}
	case free < 0 && time.Since(full) < fullFor:
		return []machine.Problem{{What: fmt.Sprintf("Docker's disk is full (it was at %s).", full.Format("15:04")), Do: do}}
	}
	return nil
}

// failed makes a sentence of what Docker did not do, and forgets a Docker that is gone.
func (e *Engine) failed(d *daemon, what string, err error) error {
	if client.IsErrConnectionFailed(err) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		e.lost(d)
		return &machine.Error{Kind: machine.ErrUnavailable, Message: "Docker does not answer. Start it, and try again.", Cause: err}
	}
	told := describe(what, err)
	if errors.Is(told, machine.ErrDiskFull) {
		e.full.Store(time.Now().UnixNano())
	}
	return told
}

// describe makes a sentence of an error of Docker's or of the file system's.
func describe(what string, err error) error {
	var told *machine.Error
	switch {
	case errors.As(err, &told):
		return err
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return local.Describe(err)
	case strings.Contains(err.Error(), "no space left on device"):
		return &machine.Error{
			Kind:    machine.ErrDiskFull,
			Message: what + ": Docker's disk is full. Free some room there (`docker system df` shows what takes it), or give Docker a larger one, and try again.", Cause: err,
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &machine.Error{Kind: machine.ErrUnavailable, Message: what + ": Docker did not answer in time. Restart it, and try again.", Cause: err}
	default:
		return &machine.Error{Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s: %v.", what, err), Cause: err}
	}
}
