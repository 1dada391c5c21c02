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

// desktop is a Docker that a person has installed as an application, which runs only when it is started.
type desktop struct {
	name  string
	start []string // the command that starts it, and returns
}

// startPatience bounds how long one may take until it answers: a virtual computer starts in it.
const startPatience = 3 * time.Minute

// installedDesktop tells which there is, the likeliest first.
func installedDesktop(ctx context.Context) (desktop, bool) {
	switch runtime.GOOS {
	case "darwin":
		for _, name := range []string{"Docker", "OrbStack"} {
			if isDir("/Applications/" + name + ".app") {
				return desktop{strings.ReplaceAll(name, "Docker", "Docker Desktop"), []string{"open", "-g", "-a", name}}, true
			}
		}
	case "windows":
		program := filepath.Join(os.Getenv("ProgramFiles"), "Docker", "Docker", "Docker Desktop.exe")
		if _, err := os.Stat(program); err == nil {
			return desktop{"Docker Desktop", []string{"cmd", "/c", "start", "", program}}, true
		}
	default:
		const unit = "docker-desktop.service"
		if exec.CommandContext(ctx, "systemctl", "--user", "cat", unit).Run() == nil {
			return desktop{"Docker Desktop", []string{"systemctl", "--user", "start", unit}}, true
		}
	}
	return desktop{}, false
}

// StartUp starts the Docker that is installed as an application, where there is one and no other answers, and waits until it does.
func (e *Engine) StartUp(ctx context.Context) error {
	if _, problem := e.probe(ctx); problem == nil || problem.rank > rankAbsent {
		return nil // it answers, or something is wrong that starting it does not mend
	}
	found, ok := installedDesktop(ctx)
	if !ok {
		return nil
	}
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
