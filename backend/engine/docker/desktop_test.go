//go:build linux && system

package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forevervm/desktop/backend/engine/local"
	"github.com/forevervm/desktop/backend/machine"
)

// Docker Desktop that is installed and stopped is started on request: also where it is the chosen
// one, as it makes itself, and has left its socket behind. Its systemd unit cannot be had for a
// test: in its place, a command of that name brings a real Docker to the place where Docker Desktop
// listens.
func TestDesktopIsStarted(t *testing.T) {
	if _, err := os.Stat("/var/run/docker.sock"); err == nil {
		t.Skip("here a Docker runs already, and nothing is to be started")
	}
	for _, chosen := range []bool{false, true} {
		t.Run(fmt.Sprintf("chosen %v", chosen), func(t *testing.T) { desktopIsStarted(t, chosen) })
	}
}

func desktopIsStarted(t *testing.T, chosen bool) {
	home := noDocker(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	socket := filepath.Join(home, ".docker", "desktop", "docker.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	if chosen {
		choose(t, filepath.Join(home, ".docker"), "desktop-linux", "unix://"+socket)
		leaveSocket(t, socket)
	}
	systemctl := func(start string) {
		t.Helper()
		script := "#!/bin/sh\n[ \"$1\" = --user ] || exit 9\ncase \"$2 $3\" in\n'cat docker-desktop.service') ;;\n'start docker-desktop.service') " + start + " ;;\n*) exit 9 ;;\nesac\n"
		if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e := newEngineOn(t, Config{Store: local.NewStore(local.Config{Data: t.TempDir()})})
	systemctl("echo no; exit 1")
	_, p := e.find(t.Context())
	if p == nil || !strings.Contains(p.What, "Docker Desktop is installed, but does not run") || !strings.Contains(p.Do, "forevervm engines start docker") {
		t.Fatalf("the problem is %+v", p)
	}
	if err := e.StartUp(t.Context()); !errors.Is(err, machine.ErrUnavailable) || !strings.Contains(err.Error(), "Start it yourself") {
		t.Errorf("where it fails: %v", err)
	}
	systemctl("ln -sf " + strings.TrimPrefix(dockerd.Host, "unix://") + " " + socket)
	var news []machine.EngineNews
	e.Notify(func(n machine.EngineNews) { news = append(news, n) })
	if err := e.StartUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Notify(nil)
	if _, p := e.find(t.Context()); p != nil {
		t.Errorf("then the problem is %+v", p)
	}
	if len(news) < 3 || news[1].Busy == nil || news[1].Busy.What != "Starting Docker Desktop" || news[len(news)-1].Busy != nil {
		t.Errorf("it is told as %+v", news)
	}
	if err := e.StartUp(t.Context()); err != nil {
		t.Errorf("where it runs: %v", err)
	}
}
