package docker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// desktop is a Docker that a person has installed as an application, which runs only when it is
// started.
type desktop struct {
	name  string
	start []string // the command that starts it, and returns
}

const (
	dockerDesktop = "Docker Desktop"
	orbStack      = "OrbStack"
)

// startPatience bounds how long one may take until it answers: a virtual computer starts in it.
const startPatience = 3 * time.Minute

// installedDesktop is the one of that name.
func installedDesktop(ctx context.Context, name string) (desktop, bool) {
	for _, d := range installedDesktops(ctx) {
		if d.name == name {
			return d, true
		}
	}
	return desktop{}, false
}

// installedDesktops tells which there are, the likeliest first.
func installedDesktops(ctx context.Context) (all []desktop) {
	switch runtime.GOOS {
	case "darwin":
		for _, name := range []string{"Docker", orbStack} {
			if isDir("/Applications/" + name + ".app") {
				all = append(all, desktop{strings.ReplaceAll(name, "Docker", dockerDesktop), []string{"open", "-g", "-a", name}})
			}
		}
	case "windows":
		program := filepath.Join(os.Getenv("ProgramFiles"), "Docker", "Docker", "Docker Desktop.exe")
		if _, err := os.Stat(program); err == nil {
			all = append(all, desktop{dockerDesktop, []string{"cmd", "/c", "start", "", program}})
		}
	default:
		const unit = "docker-desktop.service"
		if exec.CommandContext(ctx, "systemctl", "--user", "cat", unit).Run() == nil {
			all = append(all, desktop{dockerDesktop, []string{"systemctl", "--user", "start", unit}})
		}
	}
	return all
}

// StartUp starts the Docker that is installed as an application, where there is one and no other
// answers, and waits until it does.
func (e *Engine) StartUp(ctx context.Context) error {
	_, problem := e.probe(ctx)
	if problem == nil || problem.start == nil {
		return nil // it answers, or something is wrong that starting it does not mend
	}
	found := problem.start
	e.cfg.Log.Info("starting Docker", "command", found.start)
	defer e.news.busy(nil)
	what := "Starting " + found.name
	e.news.busy(&machine.Preparation{What: what})
	failed := func(err error) error {
		return &machine.Error{
			Kind: machine.ErrUnavailable, Message: fmt.Sprintf("%s could not be started (%v). Start it yourself, and try again.", found.name, err), Cause: err,
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, found.start[0], found.start[1:]...).CombinedOutput(); err != nil { //nolint:gosec // one of those above
		return failed(fmt.Errorf("%w: %.200s", err, out))
	}
	for {
		if _, problem := e.probe(ctx); problem == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return failed(fmt.Errorf("it does not answer within %v", startPatience))
		}
	}
}
